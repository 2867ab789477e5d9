package crashtest

import (
	"fmt"
	"strings"
	"testing"

	"taproom/internal/api/client"
)

// Links that guests' macvtaps lie on, and NICs on them. What the guest wants of two of them is asked and made so, at any time.
const (
	lentOwn    = "02:00:97:00:00:02" // the second one's own address
	lentGuests = "52:54:00:97:02:02" // that of the guest whose macvtap is in mode passthrough
	sharedNIC  = "<interface type='direct' trustGuestRxFilters='yes'><mac address='52:54:00:97:02:01'/><source dev='low1' mode='bridge'/><model type='virtio'/></interface>"
	lentNIC    = "<interface type='direct' trustGuestRxFilters='yes'><mac address='" + lentGuests + "'/><source dev='low2' mode='passthrough'/><model type='virtio'/></interface>"
	moreNIC    = "<interface type='direct'><mac address='52:54:00:97:02:03'/><source dev='low1' mode='private'/><model type='virtio'/></interface>"
	tapNIC     = "<interface type='bridge'><mac address='52:54:00:97:02:04'/><source bridge='br-there'/><model type='virtio'/></interface>"
	queuedNIC  = "<interface type='bridge'><mac address='52:54:00:97:02:05'/><source bridge='br-there'/><model type='virtio'/><driver queues='2'/></interface>"
	moreTapNIC = "<interface type='bridge'><mac address='52:54:00:97:02:06'/><source bridge='br-there'/><model type='virtio'/></interface>"
)

// TestADaemonKilledBesideAGuestWithSeveralNICsLeavesNone ends it at every call while a guest lives with taps, one of two
// queues, and macvtaps, to which a tap and a macvtap are added. Macvtaps, unlike taps, do not go with its QEMU, and one of
// them changes the address of the link that it lies on.
func TestADaemonKilledBesideAGuestWithSeveralNICsLeavesNone(t *testing.T) {
	t.Parallel()
	everyCall(t, trial{
		world: func(t *testing.T) *world {
			w := newWorld(t)
			w.NS.Keep("link low?", "link far?")
			w.NS.Shell("ip link add low1 type veth peer name far1; ip link add low2 address " + lentOwn + " type veth peer name far2")
			w.objects = append(w.objects, newDomain(1, nil, w.disk(1, nil), "", tapNIC+sharedNIC+queuedNIC+lentNIC))
			w.bridge("br-there")
			return w
		},
		before: (*world).withoutMacvtaps,
		stride: 17,
		drive: func(w *world, c *client.Client) error {
			o := w.objects[0]
			plug := func(nic string) func(*object) step {
				return func(o *object) step { return attach(o, nic, affectLive) }
			}
			for _, next := range []func(*object) step{define, start, plug(moreNIC), plug(moreTapNIC), suspend, resume, destroy, startPaused, destroy, undefine} {
				if err := w.do(c, next(o)); err != nil {
					return err
				}
			}
			return nil
		},
		after: (*world).leavesNoMacvtaps,
	})
}

// withoutMacvtaps is what a trial with macvtaps begins with.
func (w *world) withoutMacvtaps() error {
	if err := w.onMacvtaps(nil); err != nil {
		return err
	}
	return w.wipe()
}

// leavesNoMacvtaps is what the daemon after one that was killed is held against: its guest's macvtaps, and none without it.
func (w *world) leavesNoMacvtaps() error {
	err := w.serve(func(c *client.Client) error {
		if err := w.verify(c); err != nil {
			return err
		}
		if err := w.onMacvtaps(c); err != nil {
			return err
		}
		return w.away(c)
	})
	if err != nil {
		return err
	}
	return w.onMacvtaps(nil)
}

// onMacvtaps compares the macvtaps there are with those of the guest; c is nil when there is no guest.
func (w *world) onMacvtaps(c *client.Client) error {
	want := map[string]int{}
	own := lentOwn
	o := w.objects[0]
	if c != nil {
		doc, err := document(c, o, 0)
		if err != nil && o.active == yes {
			return err
		}
		if err == nil && doc.ID != "" {
			asked, err := doc.HostAccess()
			if err != nil {
				return err
			}
			want["taproom:host-low1"] = len(asked)
			want["taproom:"+o.uuid.String()] = strings.Count(string(doc.Format()), "<interface type='direct'")
			own = lentGuests
		}
	}
	links, err := w.k.Links()
	if err != nil {
		return err
	}
	for _, l := range links {
		if l.Kind == "macvtap" || l.Kind == "macvlan" {
			want[l.Alias]--
		}
		if l.Name == "low2" && l.MAC != own {
			return fmt.Errorf("the link under a macvtap in mode passthrough has %s, want %s", l.MAC, own)
		}
	}
	for owner, n := range want {
		if n != 0 {
			return fmt.Errorf("of %q %d macvtaps, or macvlans, are missing (less than 0: too many)", owner, n)
		}
	}
	return nil
}
