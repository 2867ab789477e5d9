package qemu

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"taproom/internal/host"
	"taproom/internal/host/hosttest"
)

// A confined guest that cannot open /dev/vhost-net gets it open, one for each queue, and the kernel moves its packets.
func TestTheKernelMovesThePacketsOfAConfinedGuest(t *testing.T) {
	t.Parallel()
	ns := hosttest.NewNS(t)
	c := emulators(t)[0].minimal()
	tap, err := ns.Kernel().CreateTap(host.TapSpec{Name: "vnet0", Queues: 2, VNetHdr: true})
	if err != nil {
		t.Fatal(err)
	}
	defer tap.Close()
	s := spec(t, c)
	s.Files = map[string]*os.File{}
	var queues, workers FDs
	for i, f := range tap.Files {
		vhost, err := os.OpenFile("/dev/vhost-net", os.O_RDWR, 0)
		if errors.Is(err, fs.ErrNotExist) || errors.Is(err, unix.ENODEV) {
			err = &host.Missing{What: "vhost-net", Config: "CONFIG_VHOST_NET and its module", Err: err}
		}
		hosttest.Needs(t, err, hosttest.Lift{Module: "vhost_net"})
		defer vhost.Close()
		queues, workers = append(queues, fmt.Sprintf("tap/%d", i)), append(workers, fmt.Sprintf("vhost/%d", i))
		s.Files[queues[i]], s.Files[workers[i]] = f, vhost
	}
	c.Netdevs = []Props{{{"type", "tap"}, {"id", "n0"}, {"fds", queues}, {"vhost", true}, {"vhostfds", workers}}}
	c.Devices = []Props{{{"driver", "virtio-net-pci"}, {"netdev", "n0"}, {"mq", true}, {"vectors", 6}}}
	p := start(t, s)
	// The kernel names its workers for the process that they work for: threads of their own, or of that process (6.4).
	name := fmt.Sprintf("vhost-%d", p.PID())
	found := 0
	for _, pattern := range []string{"/proc/[0-9]*/comm", fmt.Sprintf("/proc/%d/task/*/comm", p.PID())} {
		names, err := filepath.Glob(pattern)
		if err != nil {
			t.Fatal(err)
		}
		for _, n := range names {
			if comm, err := os.ReadFile(n); err == nil && strings.TrimSpace(string(comm)) == name {
				found++
			}
		}
	}
	if found != 2 {
		t.Errorf("%d workers are named %s, want one for each of two queues", found, name)
	}
}
