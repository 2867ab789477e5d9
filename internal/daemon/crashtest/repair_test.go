package crashtest

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"taproom/internal/api/client"
	"taproom/internal/api/own"
)

// dockers are rules as Docker has them, with nothing but what is needed to lose a guest's packets.
// They are in iptables' old interface, where nothing else of the tests is.
const dockers = `iptables-legacy-restore <<'END'
*filter
:FORWARD DROP [0:0]
:DOCKER-USER - [0:0]
-A FORWARD -j DOCKER-USER
-A DOCKER-USER -j RETURN
COMMIT
END
`

// TestADaemonKilledAmongDockersRulesLeavesNoneOfItsOwn ends it at every call while it sends a probe, lets a network through
// Docker's rules, and takes that back when the network is stopped.
func TestADaemonKilledAmongDockersRulesLeavesNoneOfItsOwn(t *testing.T) {
	t.Parallel()
	everyCall(t, trial{
		world: func(t *testing.T) *world {
			w := newWorld(t, newNetwork(1))
			w.NS.Keep("link out", "link lan")
			w.NS.Shell("ip link add out type veth peer name lan; ip link set lan up; ip link set out up; ip addr add 198.51.100.1/24 dev out; ip route add default via 198.51.100.2")
			return w
		},
		before: func(w *world) error {
			if _, err := w.NS.Try("sh", "-c", dockers); err != nil {
				return err
			}
			return w.wipe()
		},
		stride: 83,
		drive: func(w *world, c *client.Client) error {
			o := w.objects[0]
			for _, next := range []func(*object) step{define, start, throughDocker, destroy, undefine} {
				if err := w.do(c, next(o)); err != nil {
					return err
				}
			}
			return nil
		},
		after: func(w *world) error {
			if err := w.serve(func(c *client.Client) error {
				if err := w.verify(c); err != nil {
					return err
				}
				if rules := w.ofOurs(); w.objects[0].active != yes && rules != 0 && rules != 2 {
					return fmt.Errorf("there are %d of the two rules in DOCKER-USER", rules)
				}
				return w.away(c)
			}); err != nil {
				return err
			}
			if rules := w.ofOurs(); rules != 0 {
				return fmt.Errorf("%d rules of ours are left in DOCKER-USER", rules)
			}
			return nil
		},
	})
}

// ofOurs counts our rules among Docker's.
func (w *world) ofOurs() int {
	return strings.Count(w.NS.Run("iptables-legacy", "-S", "DOCKER-USER"), "taproom ")
}

// throughDocker has the daemon let a network through, which changes nothing that clients believe of it.
func throughDocker(o *object) step {
	return step{"repair", o, func(ctx context.Context, c *client.Client) error {
		r, err := c.Why(ctx, own.WhyRequest{Object: o.name, Fix: true})
		if err == nil && (len(r.Done) != 1 || len(r.Reports) != 1) {
			err = fmt.Errorf("--fix did %q and says %+v", r.Done, r.Reports)
		}
		return err
	}, o.belief}
}
