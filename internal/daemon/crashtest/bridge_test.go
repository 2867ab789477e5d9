package crashtest

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"taproom/internal/api/client"
	"taproom/internal/api/own"
	"taproom/internal/qemu/emutest"
)

// configured is how the host's NIC is configured, by ifupdown.
const configured = "auto eth0\niface eth0 inet static\n    address 192.0.2.10/24\n    gateway 192.0.2.1\n"

// wiredNIC is what the host's NIC has.
const wiredNIC = `echo 0 > /proc/sys/net/ipv6/conf/default/accept_dad
ip link add eth0 address 02:00:5e:00:00:01 type veth peer name lan
ip link set dev lan up
ip link set dev eth0 up
ip address add 192.0.2.10/24 dev eth0
ip address add 2001:db8::10/64 dev eth0
ip route add default via 192.0.2.1
for l in eth0 lan; do until ip -o link show dev $l | grep -q "state UP"; do sleep 0.01; done; done`

// howItIs is what of the host a bridge in place of the NIC changes.
const howItIs = `while ip -6 address | grep -q tentative; do sleep 0.01; done
ip -o address | sed 's/^[0-9]*: //'; ip route | sort; ip -6 route show table main | sort; cat /proc/sys/net/ipv6/conf/eth0/disable_ipv6; ls /sys/class/net`

// TestADaemonKilledWhileABridgeTakesANICsPlaceLeavesEitherWhole ends it while a bridge is made of a NIC, kept and undone.
func TestADaemonKilledWhileABridgeTakesANICsPlaceLeavesEitherWhole(t *testing.T) {
	t.Parallel()
	everyCall(t, trial{
		world: func(t *testing.T) *world {
			w := newWorld(t)
			w.NS.Keep("link eth0", "link lan")
			w.NS.Shell(wiredNIC)
			w.isLike = w.NS.Shell(howItIs)
			return w
		},
		before: func(w *world) error {
			w.rounds = 0
			dir := filepath.Join(w.Root, "etc/network")
			return errors.Join(w.wipe(), os.MkdirAll(dir, 0o755), os.WriteFile(filepath.Join(dir, "interfaces"), []byte(configured), 0o644))
		},
		stride: 19,
		drive:  (*world).bridgeAndBack,
		after: func(w *world) error {
			if err := w.serve(w.undoBridge); err != nil {
				return err
			}
			if is := w.NS.Shell(howItIs); is != w.isLike {
				return fmt.Errorf("the host is\n%s\nand was\n%s", is, w.isLike)
			}
			b, err := os.ReadFile(filepath.Join(w.Root, "etc/network/interfaces"))
			if err == nil && string(b) != configured {
				err = fmt.Errorf("the configuration is\n%s", b)
			}
			return err
		},
	})
}

// bridgeAndBack counts what was answered in rounds.
func (w *world) bridgeAndBack(c *client.Client) error {
	for _, r := range []own.BridgeRequest{
		{Do: own.BridgeMove, NIC: "eth0", Bridge: "br0", TrialMS: 600_000}, {Do: own.BridgeKeep, Bridge: "br0"}, {Do: own.BridgeUndo, Bridge: "br0"},
	} {
		ctx, cancel := emutest.Context(context.Background())
		_, err := c.Bridge(ctx, r)
		cancel()
		if err != nil {
			return fmt.Errorf("%s: %w", r.Do, broken(err))
		}
		w.rounds++
	}
	return nil
}

// undoBridge holds what a daemon finds against what was answered by the one before, and goes back.
func (w *world) undoBridge(c *client.Client) error {
	ctx, cancel := emutest.Context(context.Background())
	defer cancel()
	out, err := c.Bridge(ctx, own.BridgeRequest{Do: own.BridgeList})
	if err != nil {
		return err
	}
	state := ""
	for _, b := range out.Bridges {
		state = b.State
	}
	possible := [][]string{{"", "waiting"}, {"waiting", "kept"}, {"kept", ""}, {""}}[w.rounds]
	if state != possible[0] && state != possible[len(possible)-1] {
		return fmt.Errorf("after %d answers the bridge is %q", w.rounds, state)
	}
	if state == "" {
		return nil
	}
	_, err = c.Bridge(ctx, own.BridgeRequest{Do: own.BridgeUndo, Bridge: "br0"})
	return err
}
