package crashtest

import (
	"context"
	"testing"

	"taproom/internal/api/client"
	"taproom/internal/api/remote"
)

// What a guest asks for of the host beside its macvtap, at first and later.
const (
	accessURI  = "urn:taproom:domain:1"
	accessOnce = "<metadata><taproom:hostAccess xmlns:taproom='" + accessURI + "' dev='low1'><taproom:address>192.0.2.1/24</taproom:address></taproom:hostAccess></metadata>"
	accessThen = "<hostAccess dev='low1'><address>192.0.2.2/24</address><address>fd00::1/64</address></hostAccess>"
)

// access has a guest that runs ask for that; "" is nothing.
func access(o *object, xml string) step {
	args := &remote.DomainSetMetadata{Domain: o.domain(), SetMetadata: remote.SetMetadata{Type: 2, Key: remote.Opt("taproom"), URI: remote.Opt(accessURI), Flags: affectLive}}
	if xml != "" {
		args.Metadata = remote.Opt(xml)
	}
	return step{"describe", o, func(ctx context.Context, c *client.Client) error {
		return void(ctx, c, remote.ProcDomainSetMetadata, args)
	}, o.belief}
}

// TestADaemonKilledBesideTheHostsAccessLeavesNone ends it at every call while a guest lives beside whose macvtap the host has
// a macvlan of its own, which is changed, taken away and made again.
func TestADaemonKilledBesideTheHostsAccessLeavesNone(t *testing.T) {
	t.Parallel()
	everyCall(t, trial{
		world: func(t *testing.T) *world {
			w := newWorld(t)
			w.NS.Keep("link low?", "link far?")
			w.NS.Shell("ip link add low1 type veth peer name far1")
			w.objects = append(w.objects, newDomain(1, nil, w.disk(1, nil), accessOnce, sharedNIC))
			return w
		},
		before: (*world).withoutMacvtaps,
		stride: 17,
		drive: func(w *world, c *client.Client) error {
			o := w.objects[0]
			other := func(o *object) step { return access(o, accessThen) }
			none := func(o *object) step { return access(o, "") }
			for _, next := range []func(*object) step{define, start, other, none, other, destroy, startPaused, destroy, undefine} {
				if err := w.do(c, next(o)); err != nil {
					return err
				}
			}
			return nil
		},
		after: (*world).leavesNoMacvtaps,
	})
}
