package crashtest

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"taproom/internal/api/client"
	"taproom/internal/api/own"
	"taproom/internal/host"
	"taproom/internal/network/qos"
)

// networkBandwidth is that of a network that floors are a part of.
const networkBandwidth = "<bandwidth><inbound average='4096'/><outbound average='2048'/></bandwidth>"

// limitedNIC is a NIC with bounds, by the last digit of its address.
func limitedNIC(last int, bounds string) string {
	return fmt.Sprintf("<interface type='network'><mac address='52:54:00:97:03:0%d'/><source network='net1'/><model type='virtio'/><bandwidth>%s</bandwidth></interface>", last, bounds)
}

// TestBandwidth_DaemonKilledAtAnyCall ends the daemon while a network and a guest's NICs get limits and floors, while they change, and
// while they go: the next daemon's queues are those of the documents, and none is left at the end.
func TestBandwidth_DaemonKilledAtAnyCall(t *testing.T) {
	t.Parallel()
	first, second := limitedNIC(1, "<inbound average='512' floor='128'/><outbound average='256'/>"), limitedNIC(2, "<outbound average='512'/>")
	everyCall(t, trial{
		world: func(t *testing.T) *world {
			n := newNetwork(1)
			n.xml = strings.Replace(n.xml, "</network>", networkBandwidth+"</network>", 1)
			w := newWorld(t, n)
			w.objects = append(w.objects, newDomain(1, nil, w.disk(1, nil), "", first+second))
			return w
		},
		before: func(w *world) error { return w.wipe() },
		stride: 89,
		drive: func(w *world, c *client.Client) error {
			n, o := w.objects[0], w.objects[1]
			change := func(last int, bounds string) func(*object) step {
				return func(o *object) step { return update(o, limitedNIC(last, bounds), affectLive) }
			}
			plug := func(o *object) step {
				return attach(o, limitedNIC(3, "<inbound floor='1024'/>"), affectLive)
			}
			for _, next := range []func() step{
				func() step { return define(n) }, func() step { return start(n) },
				func() step { return define(o) }, func() step { return start(o) },
				func() step { return change(1, "<inbound average='1024' floor='256'/><outbound average='256'/>")(o) },
				func() step { return change(2, "<inbound average='64' floor='64'/>")(o) },
				func() step { return plug(o) },
				func() step { return widen(n) },
				func() step { return change(1, "<outbound average='128'/>")(o) },
				func() step { return destroy(o) }, func() step { return startPaused(o) },
				func() step { return destroy(o) }, func() step { return undefine(o) },
				func() step { return destroy(n) }, func() step { return undefine(n) },
			} {
				if err := w.do(c, next()); err != nil {
					return err
				}
			}
			return nil
		},
		after: func(w *world) error {
			err := w.serve(func(c *client.Client) error {
				if err := w.verify(c); err != nil {
					return err
				}
				if err := w.limited(c); err != nil {
					return err
				}
				return w.away(c)
			})
			if err != nil {
				return err
			}
			if all := w.NS.Run("ip", "-o", "link", "show", "type", "ifb"); all != "" {
				return fmt.Errorf("links of limits are left: %s", all)
			}
			return nil
		},
	})
}

// widen changes a network's bandwidth while guests with floors are on it.
func widen(o *object) step {
	then := o.belief
	then.defined, then.active = yes, yes
	return step{"widen", o, func(ctx context.Context, c *client.Client) error {
		xml := strings.Replace(o.xml, "average='4096'", "average='8192'", 1)
		return apply(ctx, c, own.ApplyRequest{Documents: []own.Document{{Name: o.name, XML: xml}}})
	}, then}
}

// limited compares the queues and classes in the kernel with the live documents of guests.
func (w *world) limited(c *client.Client) error {
	var floors, classes, want, got []string
	ifbs := 0
	for _, o := range w.objects[1:] {
		if o.active != yes {
			continue
		}
		doc, err := document(c, o, 0)
		if err != nil {
			return err
		}
		for _, nic := range doc.Devices.Interfaces {
			l, err := qos.Read(nic.Bandwidth)
			if err != nil {
				return err
			}
			has, err := w.rates(nic.Target.Dev)
			if err != nil {
				return err
			}
			want, got = append(want, fmt.Sprint(nic.Target.Dev, " ", qos.Wire(l.In.Average, 0), " ", qos.Wire(l.Out.Average, 0))), append(got, has)
			if l.In.Floor > 0 {
				floors = append(floors, fmt.Sprint(nic.MAC.Address, " ", qos.Wire(l.In.Floor, 0)))
			}
			if l.Out.Average > 0 {
				ifbs++
			}
		}
	}
	if n := w.objects[0]; n.active == yes {
		ifbs++
		bridge, err := w.k.LinkByName(n.bridge())
		if err != nil {
			return err
		}
		leaves, err := w.k.Leaves(bridge.Index)
		if err != nil {
			return err
		}
		for _, l := range leaves {
			if l.Class >= qos.FirstClass {
				classes = append(classes, fmt.Sprint(l.MAC, " ", l.Rate))
			}
		}
		slices.Sort(floors)
		if slices.Sort(classes); !slices.Equal(floors, classes) {
			return fmt.Errorf("the classes of floors are %q, want %q", classes, floors)
		}
	}
	if !slices.Equal(want, got) {
		return fmt.Errorf("the limits of NICs are %q, want %q", got, want)
	}
	if all := w.NS.Run("ip", "-o", "link", "show", "type", "ifb"); strings.Count(all, "\n") != ifbs {
		return fmt.Errorf("%d limits of the traffic that guests send have the links\n%s", ifbs, all)
	}
	return nil
}

// rates are the rates in the kernel, of the traffic that leaves through a tap and of that which comes in; 0 is none.
func (w *world) rates(tap string) (string, error) {
	l, err := w.k.LinkByName(tap)
	if err != nil {
		return "", err
	}
	through, err := w.k.Redirected(l.Index)
	if err != nil {
		return "", err
	}
	leaves, _, err := w.k.Queue(l.Index)
	comes := host.Queue{}
	if err == nil && through != 0 {
		comes, _, err = w.k.Queue(through)
	}
	return fmt.Sprint(tap, " ", leaves.Bucket.Rate, " ", comes.Bucket.Rate), err
}
