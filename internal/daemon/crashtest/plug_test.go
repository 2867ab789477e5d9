package crashtest

import (
	"fmt"
	"testing"

	"taproom/internal/api/client"
	"taproom/internal/host"
	"taproom/internal/spec"
)

// buses is what a guest has to have for devices that it need not let go of itself to be plugged and unplugged: a guest
// without an operating system answers nothing.
const buses = `<controller type='scsi' model='virtio-scsi'/><controller type='virtio-serial'/>
    <disk type='file' device='cdrom'><driver name='qemu' type='raw'/><target dev='hdc' bus='ide'/></disk>`

// Devices of the tests, by what they are on.
func diskOn(bus, target, path string) string {
	return fmt.Sprintf("<disk type='file' device='disk'><driver name='qemu' type='raw'/><source file='%s'/><target dev='%s' bus='%s'/></disk>", path, target, bus)
}

func mediumOf(target, bus, path string) string {
	source := ""
	if path != "" {
		source = "<source file='" + path + "'/>"
	}
	return fmt.Sprintf("<disk type='file' device='cdrom'><driver name='qemu' type='raw'/>%s<target dev='%s' bus='%s'/></disk>", source, target, bus)
}

const (
	aChannel = "<channel type='unix'><target type='virtio' name='org.example.more'/></channel>"
	aNIC     = "<interface type='network'><mac address='52:54:00:97:01:01'/><source network='net1'/><model type='virtio'/></interface>"
	movedNIC = "<interface type='bridge'><mac address='52:54:00:97:01:01'/><source bridge='br-there'/></interface>"
	downNIC  = "<interface type='network'><mac address='52:54:00:97:01:01'/><source network='net1'/><link state='down'/></interface>"
	anRNG    = "<rng model='virtio'><backend model='builtin'/></rng>"
)

// TestADaemonKilledWhileItPlugsHasWhatQEMUHas ends it at every call, and before every command to QEMU, while devices of a
// running guest are attached, changed and detached.
func TestADaemonKilledWhileItPlugsHasWhatQEMUHas(t *testing.T) {
	t.Parallel()
	everyCall(t, trial{
		world: func(t *testing.T) *world {
			net := newNetwork(1)
			w := newWorld(t, net)
			w.objects = append(w.objects, newDomain(1, net, w.disk(1, nil), "", buses))
			w.bridge("br-there")
			for n := range 3 {
				w.disk(2+n, nil)
			}
			t.Cleanup(func() {
				if !t.Failed() {
					if err := w.serve(w.again); err != nil {
						t.Error(err)
					}
				}
			})
			return w
		},
		before: func(w *world) error { return w.serve(w.fresh) },
		stride: 7,
		drive:  plugAll,
		after: func(w *world) error {
			var live, def *spec.Domain
			guest := w.objects[1]
			err := w.serve(func(c *client.Client) (err error) {
				if err := w.verify(c); err != nil {
					return err
				}
				if live, err = document(c, guest, 0); err == nil {
					def, err = document(c, guest, xmlInactive)
				}
				return err
			})
			if err != nil {
				return err
			}
			if n := len(def.Devices.Channels); n > 1 {
				return fmt.Errorf("the definition has %d channels", n)
			}
			return w.holds(guest, live)
		},
	})
}

// bridge is one that somebody else made.
func (w *world) bridge(name string) {
	w.t.Helper()
	index, err := w.k.CreateBridge(host.BridgeSpec{Name: name})
	if err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(func() {
		if err := w.k.DeleteLink(index); err != nil {
			w.t.Error(err)
		}
	})
}

// fresh has the network and a guest that has just been started, as it is defined.
func (w *world) fresh(c *client.Client) error {
	net, guest := w.objects[0], w.objects[1]
	if net.active != yes {
		for _, f := range []func(*object) step{define, start} {
			if err := w.do(c, f(net)); err != nil {
				return err
			}
		}
	}
	var next []func(*object) step
	if guest.active == yes {
		next = append(next, destroy)
	}
	for _, f := range append(next, define, start) {
		if err := w.do(c, f(guest)); err != nil {
			return err
		}
	}
	return nil
}

// plugAll is what can happen to devices of a guest.
func plugAll(w *world, c *client.Client) error {
	guest := w.objects[1]
	scsi := diskOn("scsi", "sda", w.diskPath(2))
	for _, next := range []func() step{
		func() step { return attach(guest, scsi, affectLive) },
		func() step { return attach(guest, aChannel, affectLive|affectConfig) },
		func() step { return update(guest, mediumOf("hdc", "ide", w.diskPath(3)), affectLive) },
		func() step { return attach(guest, aNIC, affectLive) },
		func() step { return update(guest, movedNIC, affectLive) },
		func() step { return update(guest, mediumOf("hdc", "ide", w.diskPath(4)), affectLive) },
		func() step { return refused(attach(guest, diskOn("scsi", "sdb", w.diskPath(9)), affectLive)) }, // no such image
		func() step { return detach(guest, scsi, affectLive) },
		func() step { return attach(guest, anRNG, affectLive) },
		func() step { return update(guest, downNIC, affectLive) },
		func() step { return detach(guest, aChannel, affectLive|affectConfig) },
		func() step { return update(guest, mediumOf("hdc", "ide", ""), affectLive) },
	} {
		if err := w.do(c, next()); err != nil {
			return err
		}
	}
	return nil
}
