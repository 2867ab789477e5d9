package doctor

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strings"
)

// checkVhostNet reports whether guests' packets can pass without waking QEMU.
func checkVhostNet(_ context.Context, e Env) []Finding {
	return checkVhost(e, "net", "until then QEMU moves packets itself, at a fraction of the rate, and driver name='vhost' is refused")
}

// checkVhostVsock reports whether guests can have vsocks.
func checkVhostVsock(_ context.Context, e Env) []Finding {
	return checkVhost(e, "vsock", "until then guests with <vsock> do not start")
}

// checkVhost looks for the node of one of the kernel's ends of virtio devices.
func checkVhost(e Env, kind, without string) []Finding {
	name := "vhost-" + kind
	ok, err := e.node("/dev/" + name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return []Finding{{name, Warning, "/dev/" + name + " does not exist", fmt.Sprintf("modprobe vhost_%s (CONFIG_VHOST_%s); %s", kind, strings.ToUpper(kind), without)}}
	case err != nil:
		return []Finding{{name, Unknown, err.Error(), ""}}
	case !ok:
		return []Finding{{name, Problem, "/dev/" + name + " is no device node", fmt.Sprintf("rm /dev/%s && modprobe -r vhost_%s && modprobe vhost_%s", name, kind, kind)}}
	}
	return []Finding{{name, OK, "/dev/" + name, ""}}
}
