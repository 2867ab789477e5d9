package pool

import (
	"fmt"
	"os"
	"path/filepath"

	"taproom/internal/host"
)

// DefaultDir is where the pools of this user have their sockets.
func DefaultDir() (string, error) {
	if os.Geteuid() == 0 {
		return "/run/taproom/appliances", nil
	}
	if run := os.Getenv("XDG_RUNTIME_DIR"); filepath.IsAbs(run) {
		return filepath.Join(run, "taproom/appliances"), nil
	}
	base, err := os.UserCacheDir()
	if err != nil {
		return "", fmt.Errorf("find a folder for the sockets of pools: %w; set XDG_RUNTIME_DIR", err)
	}
	return filepath.Join(base, "taproom/appliances"), nil
}

// Place is where one pool is found.
type Place struct {
	Dir string `json:"dir"`
	Key string `json:"key"`
}

// Find returns the place of a pool, in the default folder where dir is "".
func Find(k *host.Kernel, dir string, o Order) (Place, error) {
	var err error
	if dir == "" {
		if dir, err = DefaultDir(); err != nil {
			return Place{}, err
		}
	}
	key, err := o.Key(k)
	return Place{dir, key}, err
}

// Socket is the pool's.
func (p Place) Socket() string { return filepath.Join(p.Dir, "pool-"+p.Key+".sock") }

// Log is where a pool that was started on demand writes why it ended.
func (p Place) Log() string { return filepath.Join(p.Dir, "pool-"+p.Key+".log") }

// prepare makes the folder, which is this user's alone.
func (p Place) prepare(k *host.Kernel) error {
	if err := k.Mkdir(p.Dir, 0o700); err != nil {
		return err
	}
	st, err := k.FileFacts(p.Dir)
	if err != nil {
		return err
	}
	const others = 0o022
	if int(st.Uid) != os.Geteuid() || st.Mode&others != 0 {
		return fmt.Errorf("%s belongs to user %d and has mode %04o: others could put a socket of theirs there; chown it to user %d and chmod go-w",
			p.Dir, st.Uid, st.Mode&0o7777, os.Geteuid())
	}
	return nil
}
