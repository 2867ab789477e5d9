package crashtest

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"taproom/internal/api/client"
	"taproom/internal/qemu/emutest"
)

// A NIC with a filter, and the same with another one.
const (
	filteredNIC = "<interface type='network'><mac address='52:54:00:97:00:01'/><source network='net1'/><model type='virtio'/><filterref filter='clean-traffic'><parameter name='IP' value='192.0.2.7'/></filterref></interface>"
	screenedNIC = "<interface type='network'><mac address='52:54:00:97:00:01'/><source network='net1'/><model type='virtio'/><filterref filter='no-mac-spoofing'/></interface>"
)

// TestADaemonKilledBesideAFilteredGuestLeavesNoNICOpenAndNoRule ends it at every call: a NIC is filtered as its document says
// whenever the next daemon serves, and nothing of that is left when it is gone.
func TestADaemonKilledBesideAFilteredGuestLeavesNoNICOpenAndNoRule(t *testing.T) {
	t.Parallel()
	everyCall(t, trial{
		world: func(t *testing.T) *world {
			n := newNetwork(1)
			w := newWorld(t, n)
			o := newDomain(1, nil, w.disk(1, nil), "", filteredNIC)
			w.objects = append(w.objects, o)
			return w
		},
		before: func(w *world) error { return w.wipe() },
		stride: 23,
		drive: func(w *world, c *client.Client) error {
			n, o := w.objects[0], w.objects[1]
			for _, next := range []func(*object) step{define, start} {
				if err := w.do(c, next(n)); err != nil {
					return err
				}
			}
			screen := func(o *object) step { return update(o, screenedNIC, affectLive) }
			for _, next := range []func(*object) step{define, start, redefine(1), screen, redefine(2), destroy, startPaused, destroy, undefine} {
				if err := w.do(c, next(o)); err != nil {
					return err
				}
			}
			return nil
		},
		after: func(w *world) error {
			return w.serve(func(c *client.Client) error {
				if err := w.verify(c); err != nil {
					return err
				}
				if err := w.screened(c); err != nil {
					return err
				}
				return w.away(c)
			})
		},
	})
}

// redefine changes filters that the guest's NIC has.
func redefine(priority int) func(o *object) step {
	return func(o *object) step {
		return step{"redefine filters of", o, func(ctx context.Context, c *client.Client) error {
			_, err := c.DefineNWFilter(ctx, fmt.Sprintf("<filter name='no-mac-spoofing' chain='mac' priority='-800'><rule action='drop' direction='in' priority='%d'><mac srcmacaddr='52:54:00:00:00:99'/></rule></filter>", priority))
			return err
		}, o.belief}
	}
}

// screened compares the NICs that are filtered, as the daemon says and in the kernel, with the guests' documents.
func (w *world) screened(c *client.Client) error {
	var want, got []string
	for _, o := range w.objects {
		if o.kind != "domain" || o.active != yes {
			continue
		}
		doc, err := document(c, o, 0)
		if err != nil {
			return err
		}
		for _, nic := range doc.Devices.Interfaces {
			want = append(want, nic.Target.Dev+" "+nic.FilterRef.Filter)
		}
	}
	ctx, cancel := emutest.Context(context.Background())
	defer cancel()
	all, err := c.NWFilterBindings(ctx)
	if err != nil {
		return broken(err)
	}
	rules := w.NS.Run("nft", "list", "ruleset", "bridge")
	for _, b := range all {
		got = append(got, b.PortDev+" "+b.Filter)
		if !strings.Contains(rules, b.PortDev) {
			return fmt.Errorf("%s has filter %s and no rules: %s", b.PortDev, b.Filter, rules)
		}
	}
	if slices.Sort(want); !slices.Equal(want, got) {
		return fmt.Errorf("the filters are %q, want %q", got, want)
	}
	return nil
}
