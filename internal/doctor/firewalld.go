package doctor

import (
	"context"
	"errors"
	"io/fs"

	"golang.org/x/sys/unix"
)

const (
	busSocket     = "/run/dbus/system_bus_socket"
	firewalldName = "org.fedoraproject.FirewallD1"
)

// checkFirewalld reports whether firewalld runs: it rejects what bridges outside its zones forward.
func checkFirewalld(ctx context.Context, e Env) []Finding {
	conn, err := e.Kernel.DialUnix(ctx, e.path(busSocket))
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, unix.ECONNREFUSED) {
		return []Finding{{"firewalld", OK, "not running (no system bus)", ""}}
	}
	if err != nil {
		return []Finding{{"firewalld", Unknown, err.Error(), ""}}
	}
	defer conn.Close()
	owned, err := nameHasOwner(ctx, conn, firewalldName)
	switch {
	case err != nil:
		return []Finding{{"firewalld", Unknown, "asked the system bus for " + firewalldName + ": " + err.Error(), ""}}
	case !owned:
		return []Finding{{"firewalld", OK, "not running (nobody owns " + firewalldName + ")", ""}}
	}
	return []Finding{{
		"firewalld", Warning, firewalldName + " is owned on the system bus",
		"firewalld rejects what bridges in no zone forward: firewall-cmd --permanent --zone=trusted --add-interface=virbr0, then firewall-cmd --reload",
	}}
}
