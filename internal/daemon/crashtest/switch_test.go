package crashtest

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"taproom/internal/api/client"
	"taproom/internal/host/ovsdb/ovstest"
)

// NICs on a bridge of Open vSwitch: one, another that is plugged in, and the first with other VLANs.
const (
	switchNIC   = "<interface type='bridge'><mac address='52:54:00:97:03:01'/><source bridge='ovs0'/><virtualport type='openvswitch'/><model type='virtio'/></interface>"
	pluggedNIC  = "<interface type='bridge'><mac address='52:54:00:97:03:02'/><source bridge='ovs0'/><vlan><tag id='7'/></vlan><virtualport type='openvswitch'/><model type='virtio'/></interface>"
	retaggedNIC = "<interface type='bridge'><mac address='52:54:00:97:03:01'/><source bridge='ovs0'/><vlan><tag id='8'/><tag id='9' nativeMode='tagged'/></vlan><virtualport type='openvswitch'/><model type='virtio'/></interface>"
)

// TestADaemonKilledBesideAGuestOnOpenVSwitchLosesNoPortAndLeavesNone ends it at every call: rows of the switch's database go
// with nobody.
func TestADaemonKilledBesideAGuestOnOpenVSwitchLosesNoPortAndLeavesNone(t *testing.T) {
	t.Parallel()
	everyCall(t, trial{
		world: func(t *testing.T) *world {
			w := newWorld(t)
			w.NS.Keep("link ovs0", "link ovs-netdev")
			w.sw = ovstest.Start(t, w.NS)
			w.sw.Bridge("ovs0")
			w.objects = append(w.objects, newDomain(1, nil, w.disk(1, nil), "", switchNIC))
			return w
		},
		before: func(w *world) error {
			if ports := w.sw.Ports("ovs0"); len(ports) > 0 {
				return fmt.Errorf("ports left: %v", ports)
			}
			if err := w.wipe(); err != nil {
				return err
			}
			return w.useSwitch()
		},
		stride: 19,
		drive: func(w *world, c *client.Client) error {
			o := w.objects[0]
			plug := func(o *object) step { return attach(o, pluggedNIC, affectLive) }
			retag := func(o *object) step { return update(o, retaggedNIC, affectLive) }
			for _, next := range []func(*object) step{define, start, plug, retag, destroy, startPaused, destroy, undefine} {
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
				if err := w.onSwitch(c); err != nil {
					return err
				}
				return w.away(c)
			})
		},
	})
}

// useSwitch has the daemon use the world's switch.
func (w *world) useSwitch() error {
	dir := w.Paths().Config
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(dir, "taproomd.toml"), fmt.Appendf(nil, "ovs_socket = %q\novs_timeout_seconds = 60\n", w.sw.Socket), 0o644)
}

// onSwitch compares the ports there are, and their VLANs, with what the guest's document says. A daemon that serves may not
// have put right yet what it says in its plan, and that is empty by now.
func (w *world) onSwitch(c *client.Client) error {
	var want, got []string
	o := w.objects[0]
	if o.active == yes {
		doc, err := document(c, o, 0)
		if err != nil {
			return err
		}
		for _, nic := range doc.Devices.Interfaces {
			vlan := ""
			if nic.VLAN != nil && !nic.VLAN.Trunks() {
				vlan = "tag=7"
			} else if nic.VLAN != nil {
				vlan = "tag=9 trunks=[8, 9] vlan_mode=native-tagged"
			}
			want = append(want, strings.TrimSpace(nic.Target.Dev+" "+vlan))
		}
	}
	for _, name := range w.sw.Ports("ovs0") {
		got = append(got, strings.TrimSpace(name+" "+w.sw.Port(name)))
	}
	slices.Sort(want)
	if !slices.Equal(want, got) {
		return fmt.Errorf("the switch has the ports %q, want %q", got, want)
	}
	return nil
}
