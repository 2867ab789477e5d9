package engine

import (
	"context"
	"errors"
	"slices"
	"strconv"

	"taproom/internal/api/server"
	"taproom/internal/api/virterr"
	"taproom/internal/spec"
)

// unplugsEmulated is the first QEMU whose emulated guests were seen to survive the loss of a virtual CPU. 7.2 frees it while its
// listener of memory changes (tcg_commit of softmmu/physmem.c) stays registered, so the next device ends QEMU with
// "corrupted double-linked list". KVM registers no such listener.
const unplugsEmulated = 10

// SetDomainVCPUs implements server.DomainJobs: virtual CPUs are plugged into what runs, or are there at the next start.
func (e *Engine) SetDomainVCPUs(ctx context.Context, uuid spec.UUID, count uint32, flags uint32) error {
	const what = "set the virtual CPUs of"
	d, err := e.domain(uuid)
	if err != nil {
		return err
	}
	if flags&server.VCPUGuest != 0 {
		return virterr.New(virterr.OperationUnsupported, "virtual CPUs of domain '%s' cannot be changed by its guest agent; plug them (--live)", d.label)
	}
	if count == 0 {
		return virterr.New(virterr.InvalidArg, "domain '%s' needs at least one virtual CPU", d.label)
	}
	j, err := d.slot.BeginWithin(ctx, answerWithin, what+" domain '"+d.label+"'")
	if err != nil {
		return virterr.Wrap(virterr.OperationTimeout, err)
	}
	defer j.End()
	live, config, err := d.affects(flags &^ server.VCPUMaximum)
	if err != nil {
		return err
	}
	if live && flags&server.VCPUMaximum != 0 {
		return virterr.New(virterr.InvalidArg, "maximum vcpu count of a live domain can't be modified; use --config for domain '%s'", d.label)
	}
	ctx, cancel := context.WithTimeout(j.Context(), answerWithin)
	defer cancel()
	var def *spec.Domain
	if config {
		def, err = e.edited(ctx, d, what, func(doc *spec.Domain) error { return countVCPUs(doc, uint(count), flags&server.VCPUMaximum != 0) })
		if err != nil {
			return err
		}
	}
	if live {
		if err := e.plugVCPUs(ctx, d, int(count)); err != nil {
			return plugError(d, what, err)
		}
	}
	if config {
		_, err = e.redefine(d, def)
	}
	return err
}

// countVCPUs changes a definition.
func countVCPUs(doc *spec.Domain, count uint, maximum bool) error {
	n := strconv.FormatUint(uint64(count), 10)
	boot, added, listErr := doc.PluggedVCPUs()
	if maximum {
		if online, err := doc.OnlineVCPUs(); err != nil || online >= count {
			doc.VCPU.Current = ""
		}
		doc.VCPU.Value = n
		if doc.VCPUs != nil { // virtual CPUs above the maximum no longer exist
			doc.PlugVCPUs(min(boot, int(count)), slices.DeleteFunc(added, func(i int) bool { return i >= int(count) }))
		}
		return listErr
	}
	most, err := doc.MaxVCPUs()
	if err != nil {
		return err
	}
	if count > most {
		return virterr.New(virterr.InvalidArg, "requested vcpus is greater than max allowable vcpus for the persistent domain: %d > %d", count, most)
	}
	if doc.VCPUs != nil && listErr == nil {
		boot = min(boot, int(count))
		for done := false; !done; {
			added, done = towards(added, boot, int(count))
		}
		doc.PlugVCPUs(boot, added)
		return nil
	}
	doc.VCPU.Current = n
	if count == most {
		doc.VCPU.Current = ""
	}
	return nil
}

// plugVCPUs plugs virtual CPUs into a guest that runs, or takes them out again, one after the other: each is the guest's to
// let go of. Those that it was started with stay. The caller holds the domain's slot.
func (e *Engine) plugVCPUs(ctx context.Context, d *domain, count int) error {
	run, err := d.running()
	if err != nil {
		return err
	}
	if err := e.settleFirst(ctx, d, run); err != nil {
		return monitorError(d, "set the virtual CPUs of", err)
	}
	most, err := run.doc().MaxVCPUs()
	if err != nil {
		return err
	}
	first := run.rec().Pins.VCPUs
	switch {
	case count > int(most):
		return virterr.New(virterr.InvalidArg, "requested vcpus is greater than max allowable vcpus for the live domain: %d > %d", count, most)
	case count < first:
		return virterr.New(virterr.ConfigUnsupported, "failed to find appropriate hotpluggable vcpus to reach the desired target vcpu count: domain '%s' was started with %d", d.label, first)
	}
	if rec := run.rec(); count < first+len(rec.Pins.Added) && rec.Accel == "tcg" && run.mon.Greeting().Version.QEMU.Major < unplugsEmulated {
		return virterr.New(virterr.ConfigUnsupported, "domain '%s' is emulated, and QEMU %s crashes at the next device that is plugged in once a virtual CPU was taken out; "+
			"set fewer for its next start (--config), or use QEMU %d or newer", d.label, run.mon.Greeting().Version, unplugsEmulated)
	}
	for {
		added := run.rec().Pins.Added
		next, done := towards(added, first, count)
		if done {
			e.retune(ctx, d, run)
			return nil
		}
		hw := *run.hardware()
		if len(next) > len(added) {
			// QEMU has an assertion for it (tcg_register_thread), which ends the guest: seen with 7.2 and 10.0.
			if hw.rec.Pins.Made++; hw.rec.Accel == "tcg" && first+hw.rec.Pins.Made > int(most) {
				return virterr.New(virterr.OperationFailed, "domain '%s' is emulated, and QEMU makes at most %d virtual CPUs in one run then, with those that were taken out again; start it anew", d.label, most)
			}
		}
		hw.rec.Pins.Added = next
		hw.doc = hw.doc.Clone()
		hw.doc.PlugVCPUs(first, next)
		hw.head = headOf(hw.doc)
		if err := e.refit(ctx, d, run, &hw, false); err != nil {
			if errors.Is(err, errPending) {
				return virterr.New(virterr.OperationTimeout, "vcpu unplug request timed out. Unplug result must be manually inspected in the domain '%s'", d.label)
			}
			return err
		}
	}
}

// towards is which virtual CPUs are added next on the way to count: one more, the lowest that there is not, or one less,
// the last.
func towards(added []int, first, count int) (next []int, done bool) {
	next = slices.Clone(added)
	slices.Sort(next)
	switch have := first + len(next); {
	case have < count:
		i := first
		for slices.Contains(next, i) {
			i++
		}
		return append(next, i), false
	case have > count:
		return next[:len(next)-1], false
	}
	return next, true
}
