package host_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"

	"taproom/internal/host"
	"taproom/internal/host/hosttest"
)

// lower makes a pair of links, both up, and returns the index of the first, m0.
func lower(t *testing.T, ns *hosttest.NS) int {
	t.Helper()
	ns.Keep("link m0", "link m1")
	ns.Shell("echo 1 >/proc/sys/net/ipv6/conf/default/disable_ipv6") // no frames of the kernel's own
	ns.Shell("ip link add m0 address 02:00:00:00:00:01 type veth peer name m1; ip link set m0 up; ip link set m1 up")
	l, err := ns.Kernel().LinkByName("m0")
	if err != nil {
		t.Fatal(err)
	}
	return l.Index
}

func TestAMacvtapIsMadeDownAndShownWithItsLowerLinkAndMode(t *testing.T) {
	t.Parallel()
	ns := hosttest.NewNS(t)
	k, on := ns.Kernel(), lower(t, ns)
	for _, tap := range []bool{true, false} {
		for mode, name := range map[host.MacvlanMode]string{
			host.MacvlanPrivate: "private", host.MacvlanVEPA: "vepa", host.MacvlanBridge: "bridge", host.MacvlanPassthrough: "passthru",
		} {
			s := host.MacvlanSpec{Name: "macvtap0", Lower: on, Tap: tap, Mode: mode, MAC: "52:54:00:00:00:07", MTU: 1400, Group: 7}
			index, err := k.CreateMacvlan(s)
			if err != nil {
				t.Fatal(err)
			}
			want := host.Link{
				Index: index, Name: s.Name, Kind: map[bool]string{true: "macvtap", false: "macvlan"}[tap], MAC: s.MAC, MTU: 1400, Group: 7, Lower: on, Mode: mode,
			}
			if mode == host.MacvlanPassthrough { // it has the address of its lower link, and gives it another one
				want.MAC = "02:00:00:00:00:01"
			}
			got, err := k.LinkByIndex(index)
			if d := cmp.Diff(want, got); d != "" || err != nil {
				t.Errorf("created (-want +got): %v\n%s", err, d)
			}
			if shown := ns.Run("ip", "-d", "link", "show", "macvtap0"); !strings.Contains(shown, want.Kind+" mode "+name+" ") || mode.String() != name {
				t.Errorf("%s is shown as\n%s", mode, shown)
			}
			must(t, k.SetLink(index, host.LinkSettings{MAC: s.MAC, AllMulticast: true, Up: true}))
			want.MAC, want.AllMulticast, want.Up = s.MAC, true, true
			got, err = k.LinkByIndex(index)
			if d := cmp.Diff(want, got); d != "" || err != nil {
				t.Errorf("set (-want +got): %v\n%s", err, d)
			}
			must(t, k.DeleteLink(index))
		}
	}
}

func TestWhatTheKernelRefusesOfAMacvtapIsToldApart(t *testing.T) {
	t.Parallel()
	ns := hosttest.NewNS(t)
	k, on := ns.Kernel(), lower(t, ns)
	ns.Keep("link br0", "link p0", "link p1")
	ns.Shell("ip link add br0 type bridge; ip link add p0 type veth peer name p1; ip link set p0 master br0")
	port, err := k.LinkByName("p0")
	must(t, err)
	create := func(s host.MacvlanSpec) error {
		s.Tap = true
		i, err := k.CreateMacvlan(s)
		if err == nil {
			t.Cleanup(func() { must(t, k.DeleteLink(i)) })
		}
		return err
	}
	must(t, create(host.MacvlanSpec{Name: "t0", Lower: on, Mode: host.MacvlanPassthrough}))
	for what, c := range map[string]struct {
		s    host.MacvlanSpec
		want error
	}{
		"name":        {host.MacvlanSpec{Name: "m1", Lower: on, Mode: host.MacvlanPrivate}, host.ErrTaken},
		"lower":       {host.MacvlanSpec{Name: "t1", Lower: 9999, Mode: host.MacvlanPrivate}, host.ErrNoLink},
		"passthrough": {host.MacvlanSpec{Name: "t1", Lower: on, Mode: host.MacvlanPrivate}, unix.EINVAL},
		"loopback":    {host.MacvlanSpec{Name: "t1", Lower: 1, Mode: host.MacvlanPrivate}, unix.EINVAL},
		"bridge port": {host.MacvlanSpec{Name: "t1", Lower: port.Index, Mode: host.MacvlanPrivate}, unix.EBUSY},
	} {
		if err := create(c.s); !errors.Is(err, c.want) || !strings.Contains(err.Error(), c.s.Name) {
			t.Errorf("%s: %v, want %v", what, err, c.want)
		}
	}
}

func TestAMacvtapIsOpenedByItsNumberAlsoWhereItsNameIsAnothers(t *testing.T) {
	t.Parallel()
	const index = 4242
	var numbers []string
	for i := range 2 {
		ns := hosttest.NewNS(t)
		k := ns.Kernel()
		lower(t, ns)
		ns.Shell(fmt.Sprintf("ip link add link m0 name t0 index %d address 52:54:00:00:00:0%d type macvtap mode bridge; ip link set t0 up", index, i))
		ns.Keep("link t0")
		tap, err := k.OpenMacvtap("t0", index, 1+i) // of the second /dev/tap4242 is the other's
		if err != nil {
			t.Fatal(err)
		}
		numbers = append(numbers, ns.Run("cat", fmt.Sprintf("/sys/class/net/t0/tap%d/dev", index)))
		if len(tap.Files) != 1+i {
			t.Errorf("%d descriptors for %d queues", len(tap.Files), 1+i)
		}
		frame := append(make([]byte, 10), "\xff\xff\xff\xff\xff\xff\x52\x54\x00\x00\x00\x00\x88\xb5"...)
		frame = append(frame, make([]byte, 46)...)
		before, err := k.LinkStats("m1")
		must(t, err)
		if _, err := tap.Files[0].Write(frame); err != nil {
			t.Error(err)
		}
		for limit := time.Now().Add(30 * time.Second); ; <-time.After(time.Millisecond) {
			after, err := k.LinkStats("m1")
			must(t, err)
			if after.RxPackets > before.RxPackets {
				break
			}
			if time.Now().After(limit) {
				t.Fatal("a frame that was written to the macvtap does not leave it")
			}
		}
		must(t, tap.Close())
		if _, err := k.LinkByName("t0"); err != nil {
			t.Errorf("the link went with its descriptors: %v", err)
		}
	}
	if numbers[0] == numbers[1] {
		t.Errorf("both have device %s", numbers[0])
	}
}
