package daemon

import (
	"os"

	"taproom/internal/engine"
)

// dirMode is that of the daemon's directories that others see. A session's are its user's alone.
func dirMode(s *engine.Session) os.FileMode {
	if s != nil {
		return 0o700
	}
	return 0o755
}

// identity keeps the daemon apart from others on this machine.
func identity(root string, s *engine.Session, p engine.Paths) engine.Identity {
	if root == "" && s != nil {
		return engine.UserIdentity(p.Run)
	}
	return engine.NewIdentity(root)
}
