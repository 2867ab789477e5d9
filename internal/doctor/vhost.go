package doctor

import (
	"context"
	"errors"
	"io/fs"
)

// checkVhostNet reports whether guests' packets can pass without waking QEMU.
func checkVhostNet(_ context.Context, e Env) []Finding {
	ok, err := e.node("/dev/vhost-net")
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return []Finding{{"vhost-net", Warning, "/dev/vhost-net does not exist", "modprobe vhost_net (CONFIG_VHOST_NET); until then QEMU moves packets itself, at a fraction of the rate, and driver name='vhost' is refused"}}
	case err != nil:
		return []Finding{{"vhost-net", Unknown, err.Error(), ""}}
	case !ok:
		return []Finding{{"vhost-net", Problem, "/dev/vhost-net is no device node", "rm /dev/vhost-net && modprobe -r vhost_net && modprobe vhost_net"}}
	}
	return []Finding{{"vhost-net", OK, "/dev/vhost-net", ""}}
}
