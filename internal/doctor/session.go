package doctor

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// Session is a user without root, whose daemon serves qemu:///session.
type Session struct {
	UID     uint32
	Name    string   // of the user; "" where the password file has none
	Run     string   // where libvirt's clients look for the daemon's sockets
	Ignored []string // variables of the environment that were of no use
	NoRun   bool     // XDG_RUNTIME_DIR is not set, or of no use
}

// sessionChecks are those of a user without root: what needs root is none of its daemon's.
func sessionChecks() []check {
	return []check{checkKVM, checkLandlock, checkRuntimeDirectory, checkLingering, checkUserNetworks, checkSockets}
}

// checkRuntimeDirectory says where clients and daemon meet.
func checkRuntimeDirectory(_ context.Context, e Env) []Finding {
	f := Finding{Name: "session.runtime", Status: OK, Evidence: "clients look for the daemon in " + e.Session.Run}
	if e.Session.NoRun {
		f.Status = Warning
		f.Evidence = "XDG_RUNTIME_DIR is not set, so that clients and daemon meet in " + e.Session.Run + "; whoever has it set looks elsewhere"
		for _, what := range e.Session.Ignored {
			f.Evidence += "; " + what
		}
		f.Remedy = fmt.Sprintf("log in through the system's login (not su or sudo), or export XDG_RUNTIME_DIR=/run/user/%d where that exists", e.Session.UID)
	}
	return []Finding{f}
}

// checkLingering says what becomes of guests when the user logs out: systemd removes the runtime directory then, with all
// that guests are known by.
func checkLingering(_ context.Context, e Env) []Finding {
	f := Finding{Name: "session.linger", Status: OK}
	e.Kernel.Step("doctor stat linger")
	if _, err := os.Stat(e.path("/run/systemd/system")); errors.Is(err, fs.ErrNotExist) {
		f.Evidence = "systemd does not run here, and nothing ends with a login"
		return []Finding{f}
	}
	if e.Session.Name == "" {
		f.Status, f.Evidence = Unknown, fmt.Sprintf("user %d has no name that lingering could be asked for", e.Session.UID)
		return []Finding{f}
	}
	if _, err := os.Stat(e.path(filepath.Join("/var/lib/systemd/linger", e.Session.Name))); err == nil {
		f.Evidence = "the user lingers: guests and what they are known by outlive the last login"
		return []Finding{f}
	}
	f.Status = Warning
	f.Evidence = "the user does not linger: with the last login goes the runtime directory, and guests cannot be controlled after it"
	f.Remedy = "loginctl enable-linger " + e.Session.Name
	return []Finding{f}
}

// checkUserNetworks says which networks guests can have.
func checkUserNetworks(_ context.Context, e Env) []Finding {
	f := Finding{Name: "session.networks", Status: OK, Evidence: "guests have <interface type='user'>, by QEMU itself"}
	if p, ok := e.has("passt"); ok {
		f.Evidence += " or by " + p
	} else {
		f.Evidence += "; passt is not installed, which only NICs with <backend type='passt'/> need"
	}
	f.Evidence += "; networks and bridges need root's daemon (qemu:///system)"
	return []Finding{f}
}
