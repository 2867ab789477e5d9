package doctor

import (
	"context"
	"errors"
	"io/fs"

	"golang.org/x/sys/unix"
)

const ovsSocket = "/run/openvswitch/db.sock"

// checkOpenVSwitch reports whether NICs can go to Open vSwitch. Not having it is fine.
func checkOpenVSwitch(ctx context.Context, e Env) []Finding {
	conn, err := e.Kernel.DialUnix(ctx, e.path(ovsSocket))
	program, installed := e.has("ovs-vswitchd")
	switch {
	case err == nil:
		_ = conn.Close() // only whether somebody answers was asked
		return []Finding{{"openvswitch", OK, "the database answers on " + ovsSocket, ""}}
	case errors.Is(err, unix.ECONNREFUSED):
		return []Finding{{"openvswitch", Warning, ovsSocket + " exists and nobody answers", "systemctl restart openvswitch-switch"}}
	case !errors.Is(err, fs.ErrNotExist):
		return []Finding{{"openvswitch", Unknown, err.Error(), ""}}
	case installed:
		return []Finding{{"openvswitch", Warning, program + " is installed and not running", "systemctl start openvswitch-switch, for NICs with <virtualport type='openvswitch'>"}}
	}
	return []Finding{{"openvswitch", OK, "not installed; only NICs with <virtualport type='openvswitch'> need it", ""}}
}
