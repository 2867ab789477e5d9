package host_test

import (
	"testing"

	"taproom/internal/host"
	"taproom/internal/host/hosttest"
)

func TestAPortOfABridgeIsIsolatedUntilItLeaves(t *testing.T) {
	t.Parallel()
	ns := hosttest.NewNS(t)
	k := ns.Kernel()
	ns.Shell("set -e; ip link add br0 type bridge; ip tuntap add tap0 mode tap; ip link set tap0 master br0")
	look := func() host.Link {
		l, err := k.LinkByName("tap0")
		if err != nil {
			t.Fatal(err)
		}
		return l
	}
	for _, on := range []bool{true, true, false, true} {
		if err := k.SetIsolated(look().Index, on); err != nil {
			t.Fatal(err)
		}
		if got := look().Isolated; got != on {
			t.Errorf("isolated: %v, want %v", got, on)
		}
	}
	ns.Shell("set -e; ip link set tap0 nomaster; ip link set tap0 master br0")
	if look().Isolated {
		t.Error("a port that comes back is isolated still")
	}
	ns.Shell("ip link set tap0 nomaster")
	if err := k.SetIsolated(look().Index, true); err == nil {
		t.Error("a link that is no port was isolated")
	}
	ns.Shell("ip link del tap0; ip link del br0")
}

func TestATapGathersFrames(t *testing.T) {
	t.Parallel()
	ns := hosttest.NewNS(t)
	k := ns.Kernel()
	ns.Shell("ip tuntap add tap0 mode tap")
	for frames, want := range map[uint32]uint32{0: 0, 7: 7, 64: 64, 1000: 64} {
		if err := k.SetCoalesce("tap0", frames); err != nil {
			t.Fatal(err)
		}
		if got, err := k.Coalesce("tap0"); err != nil || got != want {
			t.Errorf("%d frames: %d, %v, want %d", frames, got, err, want)
		}
	}
	if err := k.SetCoalesce("nothing", 7); err == nil {
		t.Error("a link that is not there gathers frames")
	}
	if err := k.SetCoalesce("lo", 7); err == nil {
		t.Error("the loopback gathers frames")
	}
	ns.Shell("ip link del tap0")
}
