package crashtest

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"taproom/internal/api/client"
	"taproom/internal/host/hosttest"
	"taproom/internal/qemu/emutest"
)

// station is a DHCP client in a namespace of its own, on the bridge of a network.
type station struct {
	ns          *hosttest.NS
	dev, script string
}

func newStation(w *world, o *object) (station, error) {
	s := station{hosttest.NewNS(w.t), "in-" + o.name, filepath.Join(w.t.TempDir(), "script")}
	hosttest.Veth(w.NS, "out-"+o.name, s.ns, s.dev)
	w.NS.Run("ip", "link", "set", "dev", "out-"+o.name, "master", o.bridge())
	return s, hosttest.WriteProgram(s.script, []byte("#!/bin/sh\n[ \"$1\" != bound ] || echo \"address $ip\"\n"))
}

// address is what DHCP gives to the station. It asks every second until somebody answers.
func (s station) address() (string, error) {
	out, err := s.ns.Try("udhcpc", "-i", s.dev, "-f", "-q", "-n", "-t", "20", "-T", "1", "-s", s.script)
	if err != nil {
		return "", err
	}
	_, a, found := strings.Cut(out, "address ")
	if !found {
		return "", fmt.Errorf("udhcpc got no address and said %q", out)
	}
	return strings.TrimSpace(a), nil
}

// killHelper ends the process that answers DHCP, and returns when it is gone.
func (w *world) killHelper() (pid int, err error) {
	slice, _ := w.Slice()
	pids, err := w.k.CgroupProcs(filepath.Join(slice, "vnet"))
	if err != nil || len(pids) != 1 {
		return 0, fmt.Errorf("helpers %v, %w", pids, err)
	}
	p, err := w.k.OpenPID(pids[0], 0)
	if err != nil {
		return 0, err
	}
	defer p.Close()
	if err := w.k.Signal(p, unix.SIGKILL); err != nil {
		return 0, err
	}
	ctx, cancel := emutest.Context(context.Background())
	defer cancel()
	return pids[0], p.Wait(ctx)
}

// TestTheDHCPHelperIsKilledAndServesAgain kills it beside a daemon, and while no daemon is there.
func TestTheDHCPHelperIsKilledAndServesAgain(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	var stations []station
	var addresses []string
	for n := range 2 {
		o := newNetwork(1 + n)
		o.xml = strings.Replace(o.xml, "stp='on'", "stp='off'", 1) // a port forwards at once
		w.objects = append(w.objects, o)
	}
	// served is what must hold while a helper is there: the addresses are the ones that were given at first.
	served := func(c *client.Client, not int) error {
		for i, o := range w.objects {
			a, err := stations[i].address()
			if err != nil {
				return err
			}
			if len(addresses) <= i {
				addresses = append(addresses, a)
			}
			leases, err := c.Leases(t.Context(), o.network())
			if err != nil || len(leases) != 1 || leases[0].Addr != a || a != addresses[i] {
				t.Errorf("network %s: address %s after %v, leases %+v, %v", o.name, a, addresses, leases, err)
			}
		}
		if err := w.verify(c); err != nil {
			return err
		}
		slice, _ := w.Slice()
		if pids, err := w.k.CgroupProcs(filepath.Join(slice, "vnet")); err != nil || slices.Contains(pids, not) {
			t.Errorf("helpers %v, %v", pids, err)
		}
		return nil
	}
	var dead int
	err := w.serve(func(c *client.Client) error {
		for _, o := range w.objects {
			for _, next := range []func(*object) step{define, start} {
				if err := w.do(c, next(o)); err != nil {
					return err
				}
			}
			s, err := newStation(w, o)
			if err != nil {
				return err
			}
			stations = append(stations, s)
		}
		err := served(c, 0)
		if err != nil {
			return err
		}
		if dead, err = w.killHelper(); err != nil {
			return err
		}
		return served(c, dead)
	})
	if err == nil {
		dead, err = w.killHelper()
	}
	if err == nil {
		err = w.serve(func(c *client.Client) error {
			if err := served(c, dead); err != nil {
				return err
			}
			return w.again(c)
		})
	}
	if err != nil {
		t.Error(err)
	}
}
