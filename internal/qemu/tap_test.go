package qemu

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"taproom/internal/host"
	"taproom/internal/host/hosttest"
)

func TestTapQueuesAreHandedOverAndLiveAsLongAsTheGuest(t *testing.T) {
	t.Parallel()
	for _, e := range emulators(t) {
		t.Run(e.name, func(t *testing.T) {
			t.Parallel()
			ns := hosttest.NewNS(t)
			k := ns.Kernel()
			c := e.minimal()
			files := map[string]*os.File{}
			for name, queues := range map[string]int{"vnet0": 1, "vnet1": 2} {
				tap, err := k.CreateTap(host.TapSpec{Name: name, Queues: queues, VNetHdr: true})
				if err != nil {
					t.Fatal(err)
				}
				defer tap.Close()
				var fds FDs
				for i, f := range tap.Files {
					fds = append(fds, name+"/"+itoa(i))
					files[fds[i]] = f
				}
				backend, device := Props{{"type", "tap"}, {"id", name}}, Props{{"driver", "virtio-net-pci"}, {"netdev", name}}
				if queues == 1 {
					backend = backend.With("fd", FD(fds[0]))
				} else {
					backend, device = backend.With("fds", fds), device.With("mq", true).With("vectors", 2*queues+2)
				}
				c.Netdevs, c.Devices = append(c.Netdevs, backend), append(c.Devices, device)
			}
			s := spec(t, c)
			s.Files = files
			p, err := Start(t.Context(), k, s)
			if err != nil {
				t.Fatal(err)
			}
			for _, f := range files {
				f.Close()
			}
			var info string
			err = p.QMP().Execute(t.Context(), "human-monitor-command", map[string]string{"command-line": "info network"}, &info)
			if err != nil || strings.Count(info, "type=tap") != 3 {
				t.Errorf("QEMU's network: %q, %v; want three tap queues", info, err)
			}
			if links := ns.Run("ip", "-o", "link", "show", "type", "tun"); strings.Count(links, "vnet") != 2 {
				t.Errorf("links while the guest has them: %q", links)
			}
			end(t, p)
			if links := ns.Run("ip", "-o", "link", "show", "type", "tun"); links != "" {
				t.Errorf("links after the guest's end: %q", links)
			}
		})
	}
}

func TestDaemonsSocketIsForItsOwnerOnly(t *testing.T) {
	t.Parallel()
	s := spec(t, emulators(t)[0].minimal())
	start(t, s)
	st, err := os.Stat(s.QMPPath)
	if err != nil || st.Mode().Perm() != 0o600 {
		t.Errorf("%s: mode %v, %v; want 0600", filepath.Base(s.QMPPath), st.Mode(), err)
	}
}
