package host_test

import (
	"context"
	"slices"
	"testing"
	"time"

	"taproom/internal/host"
	"taproom/internal/host/hosttest"
)

// What is behind a port is told to its bridge, and that somebody takes it back is noticed; what is learned is neither.
func TestABridgeIsToldWhatIsBehindAPort(t *testing.T) {
	t.Parallel()
	ns := hosttest.NewNS(t)
	ns.Keep("link br0", "link tap?", "link far1")
	ns.Shell("set -e; ip link add br0 type bridge; ip tuntap add tap0 mode tap; ip link add tap1 type veth peer far1; for l in tap0 tap1; do ip link set $l master br0; done; for l in br0 tap1 far1; do ip link set $l up; done")
	k := ns.Kernel()
	link := func(name string) host.Link {
		t.Helper()
		l, err := k.LinkByName(name)
		if err != nil {
			t.Fatal(err)
		}
		return l
	}
	bridge, tap := link("br0").Index, link("tap0").Index
	w, err := k.WatchLinks()
	if err != nil {
		t.Fatal(err)
	}
	lost := make(chan int, 100)
	ctx, stop := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() {
		done <- w.Run(ctx, func(changes []host.LinkChange, _ bool) {
			for _, c := range changes {
				if c.Lost {
					lost <- c.Link.Index
				}
			}
		})
	}()
	is := func(want ...string) {
		t.Helper()
		if got, err := k.StaticFDB(tap, bridge); err != nil || !slices.Equal(got, want) {
			t.Errorf("behind tap0 are %v (%v), want %v", got, err, want)
		}
	}
	is()
	for _, mac := range []string{"52:54:00:00:00:02", "52:54:00:00:00:01", "52:54:00:00:00:01"} { // a second time changes nothing
		if err := k.SetFDB(tap, mac); err != nil {
			t.Fatal(err)
		}
	}
	// The kernel takes what was learned for a port that forwards alone, and a port forwards once its carrier was noticed.
	ns.Shell("set -e; for i in $(seq 600); do bridge fdb add 52:54:00:00:00:09 dev tap1 master dynamic && break; sleep 0.1; done; bridge fdb add 52:54:00:00:00:08 dev tap1 master static")
	is("52:54:00:00:00:01", "52:54:00:00:00:02")
	for range 2 {
		if err := k.DelFDB(tap, "52:54:00:00:00:02"); err != nil {
			t.Error(err)
		}
	}
	is("52:54:00:00:00:01")
	ns.Shell("set -e; bridge fdb del 52:54:00:00:00:09 dev tap1 master; bridge fdb del 52:54:00:00:00:08 dev tap1 master")
	// A kernel that knows VLANs tells of each address once for each of them, and once without.
	want := []int{tap, link("tap1").Index}
	for last := 0; len(want) > 0; {
		select {
		case got := <-lost:
			if got == want[0] {
				want = want[1:]
			} else if got != last {
				t.Errorf("link %d has lost something, want %d", got, want[0])
			}
			last = got
		case <-time.After(time.Minute):
			t.Fatal("nothing is told")
		}
	}

	for _, managed := range []bool{true, false} {
		if err := k.SetManaged(tap, managed); err != nil {
			t.Fatal(err)
		}
		if l := link("tap0"); l.NoLearning != managed || l.NoFlood != managed {
			t.Errorf("%v: %+v", managed, l)
		}
	}
	stop()
	if err := <-done; err != nil {
		t.Error(err)
	}
	ns.Run("ip", "link", "del", "tap1")
	ns.Run("ip", "link", "del", "tap0")
	ns.Run("ip", "link", "del", "br0")
}

func TestABridgeLooksAtVLANsWhereTheKernelCan(t *testing.T) {
	t.Parallel()
	ns := hosttest.NewNS(t)
	ns.Keep("link br0")
	ns.Run("ip", "link", "add", "br0", "type", "bridge")
	k := ns.Kernel()
	l, err := k.LinkByName("br0")
	if err != nil || l.Bridge.VLANs {
		t.Fatalf("%+v, %v", l, err)
	}
	err = k.SetVLANFiltering(l.Index, true)
	if l.Bridge.KnowsVLANs != (err == nil) {
		t.Errorf("the kernel knows VLANs: %v; %v", l.Bridge.KnowsVLANs, err)
	}
	hosttest.Needs(t, err, hosttest.Lift{Since: "6.1"})
	if l, err = k.LinkByName("br0"); err != nil || !l.Bridge.VLANs {
		t.Errorf("%+v, %v", l, err)
	}
}
