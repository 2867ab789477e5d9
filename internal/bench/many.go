package bench

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"taproom/internal/host"
	"taproom/internal/sandbox"
)

// MostNICs is how many NICs the guest can have: as many buses as PCI has, without those of the machine.
const MostNICs = 200

// NICKinds are what the guest's NICs can be.
func NICKinds() []string { return []string{"tap", "macvtap"} }

// The crowd: guests with so many NICs each, started and stopped by so many clients at once.
const (
	crowdNICs    = 8
	crowdClients = 8
)

// MostGuests is how many guests the crowd can have.
const MostGuests = 200

// manyLower is what the macvtaps lie on.
const manyLower = "benchlow"

// manyDocument is a guest with NICs; the first firmware it meets powers it off.
func manyDocument(o Options, name string, number, nics int, firmware string) string {
	source := fmt.Sprintf("<interface type='bridge'>%%s<source bridge='%s'/><model type='virtio'/></interface>", benchBridge)
	if o.Kind == "macvtap" {
		source = fmt.Sprintf("<interface type='direct'>%%s<source dev='%s' mode='bridge'/><model type='virtio'/></interface>", manyLower)
	}
	var b strings.Builder
	fmt.Fprintf(&b, `<domain type='qemu'><name>%s</name><uuid>8ae4d9ff-3b06-4a64-a4a4-0d1b3b1b%04x</uuid><memory unit='MiB'>16</memory><vcpu>1</vcpu>
  <os><type arch='x86_64' machine='%s'>hvm</type><loader readonly='yes' type='rom'>%s</loader></os><features><acpi/></features>
  <devices><controller type='usb' model='none'/><memballoon model='none'/>`, name, number, o.Machine, firmware)
	for i := range nics {
		fmt.Fprintf(&b, source, fmt.Sprintf("<mac address='52:54:00:%02x:%02x:%02x'/>", number>>8, number&0xff, i))
	}
	b.WriteString("</devices></domain>")
	return b.String()
}

// manyBench is what the benchmark runs.
type manyBench struct {
	o        Options
	dir      string // firmware and sockets
	firmware string
	sides    []*manySide
	floor    *bareQEMU
}

// runMany measures a guest with very many NICs: its start, its end by every way there is and what a neighbour sees of it
// meanwhile, and then a crowd of guests from several clients at once.
func runMany(ctx context.Context, o Options) (r *Report, err error) {
	b := &manyBench{o: o}
	if err := b.prepare(ctx); err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, b.close(context.WithoutCancel(ctx))) }()
	r = newReport("many")
	for _, build := range o.builds() {
		own, err := startOwn(ctx, build.programs)
		if err != nil {
			return nil, err
		}
		if err := b.add(ctx, build.prefix, own, own.close); err != nil {
			return nil, err
		}
	}
	if b.floor, err = newBareQEMU(ctx, b.sides[0].side.(*ownDaemon), manyName, b.bareLink); err != nil {
		return nil, err
	}
	peer, skip := startLibvirt(ctx, o.Peers)
	if peer != nil {
		if err := b.add(ctx, "peer.libvirt.", peer, func(context.Context) error { return peer.close() }); err != nil {
			return nil, err
		}
	}
	name := fmt.Sprintf("%s.%d.", o.Kind, o.NICs)
	contenders := []Contender{{Name: "floor." + name + "start", Unit: "ms", Run: b.floor.measure}}
	for _, s := range b.sides {
		contenders = append(contenders, Contender{Name: s.prefix + name + "start", Unit: "ms", Run: s.one})
	}
	for _, s := range b.sides {
		contenders = append(contenders, Contender{Name: s.prefix + s.crowdFigure("start"), Unit: "ms", Run: s.crowd})
	}
	all, skipped, err := Turns(ctx, o.Rounds, contenders, o.Progress)
	if err != nil {
		return nil, err
	}
	v, err := b.sides[0].side.client().Version(ctx)
	if err != nil {
		return nil, err
	}
	r.Host.QEMU = v.QEMU
	for _, s := range b.sides {
		all = append(all, s.derived(b.floor)...)
	}
	r.add(all, append(skipped, skip...)...)
	return r, nil
}

// prepare makes what the guests' NICs are plugged into, and their firmware.
func (b *manyBench) prepare(ctx context.Context) error {
	err := errors.Join(sandbox.IP(ctx, "link", "add", benchBridge, "up", "type", "bridge"),
		sandbox.IP(ctx, "link", "add", manyLower, "up", "type", "veth", "peer", "name", manyLower+"far"),
		sandbox.IP(ctx, "link", "set", manyLower+"far", "up"))
	if err != nil {
		return err
	}
	if b.dir, err = os.MkdirTemp("", "taproom-"); err != nil {
		return err
	}
	b.firmware = filepath.Join(b.dir, "poweroff.rom")
	return errors.Join(os.Chmod(b.dir, 0o755), os.WriteFile(b.firmware, poweroffFirmware(), 0o644)) // guests' users read it
}

// bareLink makes a link for the bare QEMU of the kind that the daemon makes, and up as the daemon's are.
func (b *manyBench) bareLink(k *host.Kernel, nic int) (*os.File, error) {
	if b.o.Kind == "macvtap" {
		return bareMacvtap(k, nic)
	}
	f, err := bareTap(k, nic)
	if err != nil {
		return nil, err
	}
	l, err := k.LinkByName(bareName(nic))
	if err == nil {
		err = k.SetUp(l.Index, true)
	}
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

// bareMacvtap makes a macvtap beside the guests'. It goes with the namespace of the benchmark.
func bareMacvtap(k *host.Kernel, nic int) (*os.File, error) {
	lower, err := k.LinkByName(manyLower)
	if err != nil {
		return nil, err
	}
	index, err := k.CreateMacvlan(host.MacvlanSpec{Name: bareName(nic), Lower: lower.Index, Tap: true, Mode: host.MacvlanBridge})
	if err != nil {
		return nil, err
	}
	t, err := k.OpenMacvtap(bareName(nic), index, 1)
	if err != nil {
		return nil, err
	}
	if err := k.SetUp(index, true); err != nil {
		return nil, errors.Join(err, t.Close())
	}
	return t.Files[0], nil
}

// add takes a daemon in, and defines its guests.
func (b *manyBench) add(ctx context.Context, prefix string, d side, end func(context.Context) error) error {
	s := &manySide{prefix: prefix, bench: b, side: d, end: end, series: map[string][]float64{}}
	b.sides = append(b.sides, s)
	return s.define(ctx)
}

// close ends the guests and the daemons.
func (b *manyBench) close(ctx context.Context) error {
	var errs []error
	for _, s := range b.sides {
		errs = append(errs, s.close(ctx))
	}
	if b.floor != nil {
		b.floor.close()
	}
	errs = append(errs, os.RemoveAll(b.dir))
	if err := errors.Join(errs...); err != nil {
		return fmt.Errorf("clean up after the benchmark: %w", err)
	}
	return nil
}
