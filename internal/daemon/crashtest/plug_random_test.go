package crashtest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"taproom/internal/api/client"
	"taproom/internal/api/remote"
	"taproom/internal/api/virterr"
	"taproom/internal/appliance"
	"taproom/internal/appliance/wire"
	"taproom/internal/guest/plug"
	"taproom/internal/qemu/emutest"
	"taproom/internal/spec"
)

// Random changes of devices in the run of all tests, and in the long one (TAPROOM_LONG=1).
const (
	changes     = 10
	changesLong = 150
)

// bootable is the built-in guest, which has drivers for everything, on a network, with places for devices.
func (w *world) bootable(net *object) *object {
	w.t.Helper()
	g, err := appliance.Ensure(w.t.Context(), appliance.Options{AgentPath: filepath.Join(w.Programs(), "taproom-agent")})
	if err != nil {
		w.t.Fatal(err)
	}
	o := newDomain(1, net, w.disk(1, nil))
	ports := "<controller type='pci' index='0' model='pcie-root'/>" + strings.Repeat("<controller type='pci' model='pcie-root-port'/>", 14)
	o.xml = strings.NewReplacer(
		"machine='pc'>hvm</type>", "machine='q35'>hvm</type><kernel>"+g.Kernel+"</kernel><initrd>"+g.Initrd+"</initrd><cmdline>"+g.Cmdline+"</cmdline>",
		"<memory unit='MiB'>16", "<memory unit='MiB'>160",
		"<controller type='usb' model='none'/>", ports+"<controller type='usb' model='qemu-xhci'/><controller type='scsi' model='virtio-scsi'/>"+
			mediumOf("sdz", "sata", "")+"<channel type='unix'><target type='virtio' name='org.taproom.agent.0'/></channel>",
		"<target dev='hda' bus='ide'/>", "<target dev='vda' bus='virtio'/>",
	).Replace(o.xml)
	return o
}

// pool are the devices that come and go.
func (w *world) pool() []string {
	return []string{
		diskOn("virtio", "vdb", w.diskPath(2)), diskOn("virtio", "vdc", w.diskPath(3)), diskOn("scsi", "sdb", w.diskPath(4)),
		diskOn("usb", "sdc", w.diskPath(5)), aChannel, aNIC, anRNG, "<input type='tablet' bus='usb'/>",
	}
}

// TestRandomChangesOfDevicesConverge changes devices of a guest at random, in what runs, in the definition or in both, while
// the guest is reset or killed, or the daemon is killed: after each, what the live document says is what QEMU has, and what
// the definition says is what was answered.
func TestRandomChangesOfDevicesConverge(t *testing.T) {
	t.Parallel()
	r, rounds := rand.New(rand.NewPCG(seed(t), 3)), changes
	if long() {
		rounds = changesLong
	}
	net := newNetwork(1)
	w := newWorld(t, net)
	guest := w.bootable(net)
	w.objects = append(w.objects, guest)
	for n := range 6 {
		w.disk(2+n, nil)
	}
	if err := w.serve(w.fresh); err != nil {
		t.Fatal(err)
	}
	p := &plugging{world: w, guest: guest, defined: map[string]truth{}}
	if err := p.serve(p.booted); err != nil {
		t.Fatal(err)
	}
	for i := range rounds {
		if err := p.round(r); err != nil {
			t.Fatalf("change %d, %s: %v\n%s", i, p.last, err, w.Said())
		}
	}
	t.Logf("%d changes, %d were made as asked", rounds, p.made)
	if p.made < rounds/4 {
		t.Errorf("of %d changes only %d were made", rounds, p.made)
	}
	if err := p.serve(p.empty); err != nil {
		t.Errorf("take everything out again: %v\n%s", err, w.Said())
	}
	if err := w.serve(w.away); err != nil {
		t.Error(err)
	}
}

// plugging is a run of random changes.
type plugging struct {
	*world
	guest   *object
	defined map[string]truth // what the definition has, by the device's document
	last    string           // what was done last
	made    int
}

// boot has the guest run, and waits until it has booted.
func (p *plugging) boot(c *client.Client) error {
	defer emutest.Boot(p.t)()
	if err := p.ready(c); err != nil {
		return err
	}
	return p.booted(c)
}

// booted waits until the guest's agent answers: before, it has no drivers.
func (p *plugging) booted(c *client.Client) error {
	ctx, cancel := emutest.Context(context.Background())
	defer cancel()
	ask, _ := json.Marshal(map[string]any{"op": wire.OpHello, "args": wire.HelloWait{Seconds: 4 * emutest.Seconds()}})
	_, err := c.Agent(ctx, p.guest.name, ask)
	return err
}

// round makes one change, with something in between or without, and looks at what comes of it.
func (p *plugging) round(r *rand.Rand) error {
	if err := p.Start(); err != nil {
		return err
	}
	defer p.Kill()
	c, err := p.Dial()
	if err != nil {
		return err
	}
	defer c.Close()
	if err := p.ready(c); err != nil {
		return err
	}
	var wg sync.WaitGroup
	between := p.disturb(r)
	wg.Go(between)
	one, xml, then := p.choose(r, c)
	err = one.ask(context.Background(), c)
	wg.Wait()
	var refused *virterr.Error
	switch {
	case err == nil:
		p.made++
		if xml != "" {
			p.defined[xml] = then
		}
	case errors.As(err, &refused): // nothing has changed
	case xml != "" && p.defined[xml] != then: // nobody answered
		p.defined[xml] = maybe
	}
	p.last += fmt.Sprintf(" (%v)", err)
	c.Close()
	p.Kill()
	return p.converged()
}

// ready has the guest run.
func (p *plugging) ready(c *client.Client) error {
	ctx, cancel := emutest.Context(context.Background())
	defer cancel()
	_, err := c.StartDomain(ctx, p.guest.domain(), 0)
	if err != nil && virterr.CodeOf(err) != virterr.OperationInvalid { // it runs already
		return err
	}
	p.guest.pid, err = p.qemuOf(p.guest)
	return err
}

// disturb chooses what happens meanwhile.
func (p *plugging) disturb(r *rand.Rand) func() {
	after := time.Duration(r.Int64N(int64(60 * time.Millisecond)))
	switch r.IntN(6) {
	case 0:
		p.last = fmt.Sprintf("the daemon killed after %v: ", after)
		return func() { p.KillIn(after) }
	case 1:
		p.last = fmt.Sprintf("QEMU killed after %v: ", after)
		return func() {
			<-time.After(after)
			if h, err := p.k.OpenPID(p.guest.pid, 0); err == nil {
				_ = p.k.Signal(h, unix.SIGKILL)
				h.Close()
			}
		}
	case 2:
		p.last = "the guest reset: "
		return func() {
			if c, err := p.Dial(); err == nil {
				_ = void(context.Background(), c, remote.ProcDomainReset, &remote.DomainFlags{Domain: p.guest.domain()})
				c.Close()
			}
		}
	}
	p.last = ""
	return func() {}
}

// choose chooses a change. xml is the device whose place in the definition changes, "" when none does.
func (p *plugging) choose(r *rand.Rand, c *client.Client) (s step, xml string, then truth) {
	if r.IntN(5) == 0 {
		media := []string{"", p.diskPath(6), p.diskPath(7)}
		p.last += "change the medium"
		return update(p.guest, mediumOf("sdz", "sata", media[r.IntN(3)]), affectLive), "", no
	}
	pool := p.pool()
	one := pool[r.IntN(len(pool))]
	flags := uint32(1 + r.IntN(3))
	there := p.defined[one] == yes
	if flags&affectLive != 0 {
		doc, err := document(c, p.guest, 0)
		is := err == nil && has(doc, one, true)
		if is != there { // both are changed where both are the same
			flags = affectLive
		}
		there = is
	}
	if flags&affectConfig != 0 {
		xml = one
	}
	if there {
		p.last += fmt.Sprintf("detach (%d) %s", flags, one)
		return detach(p.guest, one, flags), xml, no
	}
	p.last += fmt.Sprintf("attach (%d) %s", flags, one)
	return attach(p.guest, one, flags), xml, yes
}

// has reports whether a document has a device.
func has(doc *spec.Domain, xml string, running bool) bool {
	devices, err := spec.ParseDevice([]byte(xml))
	if err != nil {
		return false
	}
	v, err := plug.Only(devices)
	if err != nil {
		return false
	}
	_, err = plug.Find(doc, v, running)
	return err == nil
}

// converged compares documents with QEMU until they agree: a guest may let go of a device at any time.
func (p *plugging) converged() error {
	late, cancel := emutest.Context(context.Background())
	defer cancel()
	for {
		err := p.agree()
		if err == nil || late.Err() != nil {
			return err
		}
	}
}

// agree compares once. No daemon runs afterwards.
func (p *plugging) agree() error {
	var live *spec.Domain
	err := p.serve(func(c *client.Client) (err error) {
		def, err := document(c, p.guest, xmlInactive)
		if err != nil {
			return err
		}
		for _, one := range p.pool() {
			if is := truthOf(has(def, one, false)); p.defined[one] != maybe && p.defined[one] != is {
				return fmt.Errorf("in the definition: %v, was answered %v: %s", is, p.defined[one], one)
			} else if p.defined[one] == maybe {
				p.defined[one] = is
			}
		}
		state, err := c.DomainState(context.Background(), p.guest.domain())
		if err == nil && slices.Contains([]int32{1, 3}, state.State) { // running, paused
			live, err = document(c, p.guest, 0)
		}
		return err
	})
	if err != nil || live == nil {
		return err
	}
	return p.holds(p.guest, live)
}

// empty takes everything out that is in. What the guest does not let go of goes when it is reset.
func (p *plugging) empty(c *client.Client) error {
	if err := p.boot(c); err != nil {
		return err
	}
	late, cancel := emutest.Context(context.Background())
	defer cancel()
	for {
		left := 0
		for flags, shown := range map[uint32]uint32{affectLive: 0, affectConfig: xmlInactive} {
			doc, err := document(c, p.guest, shown)
			if err != nil {
				return err
			}
			for _, one := range p.pool() {
				if has(doc, one, flags == affectLive) {
					left++
					_ = detach(p.guest, one, flags).ask(context.Background(), c) // one that is on its way out already is refused
				}
			}
		}
		if left == 0 {
			return nil
		}
		if late.Err() != nil {
			return fmt.Errorf("%d devices are left", left)
		}
		if err := void(context.Background(), c, remote.ProcDomainReset, &remote.DomainFlags{Domain: p.guest.domain()}); err != nil {
			return err
		}
	}
}
