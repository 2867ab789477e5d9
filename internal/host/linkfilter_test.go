package host_test

import (
	"slices"
	"testing"

	"taproom/internal/host/hosttest"
)

// What a link takes beside its own is added, found and taken back, each as often as one likes.
func TestALinkTakesFramesForMoreThanItsOwnAddress(t *testing.T) {
	t.Parallel()
	ns := hosttest.NewNS(t)
	ns.Keep("link low?", "link far?", "link mt?")
	ns.Shell(`set -e; for i in 0 1; do ip link add low$i type veth peer name far$i; ip link set low$i up; done
		ip link add link low0 name mt0 address 52:54:00:00:00:01 type macvtap mode bridge; ip link add link low1 name mt1 type macvtap mode passthru`)
	k := ns.Kernel()
	for _, c := range []struct {
		link, mac string
		taken     bool
	}{
		{"mt0", "01:00:5e:00:00:aa", true},
		{"mt0", "52:54:00:00:00:09", false}, // the kernel looks for a macvtap by one address
		{"mt1", "52:54:00:00:00:09", true},
		{"mt1", "33:33:00:00:00:aa", true},
		{"mt1", "33:33:00:00:00:01", true}, // it has that already
	} {
		l, err := k.LinkByName(c.link)
		if err != nil {
			t.Fatal(err)
		}
		for range 2 {
			if err := k.AddHears(l.Index, c.mac); (err == nil) != c.taken {
				t.Errorf("%s for %s: %v", c.link, c.mac, err)
			}
		}
		got, err := k.Hears(l.Index)
		if err != nil || slices.Contains(got, c.mac) != c.taken || !slices.IsSorted(got) {
			t.Errorf("%s takes frames for %v, %v; %s: want %v", c.link, got, err, c.mac, c.taken)
		}
		for range 2 {
			if err := k.DelHears(l.Index, c.mac); err != nil && c.taken {
				t.Errorf("%s for %s no more: %v", c.link, c.mac, err)
			}
		}
		if got, err := k.Hears(l.Index); err != nil || slices.Contains(got, c.mac) {
			t.Errorf("%s takes frames for %v, %v, after %s was taken back", c.link, got, err, c.mac)
		}
		for _, want := range [][2]bool{{true, false}, {true, true}, {false, true}, {false, false}} {
			if err := k.SetReceive(l.Index, want[0], want[1]); err != nil {
				t.Fatal(err)
			}
			if l, err = k.LinkByName(c.link); err != nil || l.Promiscuous != want[0] || l.AllMulticast != want[1] {
				t.Errorf("%+v, %v, want %v", l, err, want)
			}
		}
	}
	if got, err := k.Hears(1 << 20); err != nil || len(got) > 0 {
		t.Errorf("a link that is not there takes frames for %v, %v", got, err)
	}
	if err := k.AddHears(1, "no address"); err == nil {
		t.Error("no address is taken for one")
	}
}
