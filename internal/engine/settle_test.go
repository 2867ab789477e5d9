package engine

import (
	"context"
	"slices"
	"testing"
	"time"

	"taproom/internal/engine/job"
	"taproom/internal/guest"
	"taproom/internal/guest/firmware"
	"taproom/internal/spec"
)

// plain is a guest with few devices, as it is started, that has no other monitor than the one it is given.
func plain(t *testing.T) *agentDouble {
	t.Helper()
	doc, err := spec.ParseDomain([]byte(`<domain type='qemu'><name>d</name><uuid>11111111-2222-3333-4444-555555555555</uuid><memory>16384</memory>
<os><type arch='x86_64' machine='pc'>hvm</type></os><devices><emulator>/usr/bin/qemu-system-x86_64</emulator><controller type='usb' model='none'/><memballoon model='none'/></devices></domain>`))
	if err == nil {
		err = guest.Complete(doc, guest.HostFacts{
			Arch: "x86_64", Emulator: "/usr/bin/qemu-system-x86_64", Machines: []guest.Machine{{Name: "pc-i440fx-7.2", Alias: "pc", MaxCPUs: 255}},
			Firmware: func() firmware.List { return firmware.List{} }, NewMAC: func() string { return "" }, NewUUID: spec.NewUUID,
		})
	}
	if err == nil {
		err = guest.Name(doc)
	}
	a := &agentDouble{e: small(t)}
	if err != nil {
		t.Fatal(err)
	}
	a.d = newDomain(*doc.UUID, doc.Name, nil)
	a.run = newRunning(record{Name: doc.Name, UUID: *doc.UUID, ID: 3, Accel: "tcg"}, doc)
	if *a.run.rt(), err = a.e.runtime(a.d, *a.run.rec()); err != nil {
		t.Fatal(err)
	}
	if err := a.e.saveRecord(a.run); err != nil {
		t.Fatal(err)
	}
	return a
}

// written are the names of the devices that are written down of the guest.
func (a *agentDouble) written(t *testing.T) []string {
	t.Helper()
	items, _, err := a.e.records.Load()
	if err != nil || len(items) != 1 {
		t.Fatalf("%d records, %v", len(items), err)
	}
	doc, err := spec.ParseDomain(items[0].Doc)
	if err != nil {
		t.Fatal(err)
	}
	if err := guest.Name(doc); err != nil {
		t.Fatal(err)
	}
	return aliases(doc)
}

// A device was to be plugged in, QEMU stopped answering half-way, and what it has cannot be asked. Whoever stops the guest
// must know of all that may be there; when QEMU answers again the next change begins with what is.
func TestAChangeThatQEMUDoesNotAnswerIsSettledByTheNextOne(t *testing.T) {
	t.Parallel()
	a := plain(t)
	asked := a.monitored(t, map[string]string{"device_add": "silence", "qom-list": "silence"})
	before := aliases(a.run.doc())
	doc := a.run.doc().Clone()
	rng, err := spec.ParseDevice([]byte(`<rng model='virtio'><backend model='builtin'/><alias name='rng0'/><address type='pci' domain='0x0000' bus='0x00' slot='0x08' function='0x0'/></rng>`))
	if err != nil {
		t.Fatal(err)
	}
	doc.Devices.Append(rng)
	next := *a.run.hardware()
	next.doc, next.head = doc, headOf(doc)

	ctx, cut := context.WithCancelCause(t.Context())
	defer cut(nil)
	done := make(chan error, 1)
	go func() { done <- a.e.refit(ctx, a.d, a.run, &next, false) }()
	for c := range asked {
		if c == "device_add" {
			cut(&job.Preempted{By: "destroy"}) // so that it is not set back for long
			break
		}
	}
	select {
	case err = <-done:
	case <-time.After(time.Minute):
		t.Fatal("it waits for a QEMU that does not answer")
	}
	if now := aliases(a.run.doc()); err == nil || !a.run.unsettled || !slices.Contains(now, "rng0") || !slices.Equal(now, a.written(t)) {
		t.Errorf("%v; unsettled %v; the guest has %v, and %v are written down", err, a.run.unsettled, now, a.written(t))
	}

	if err := a.e.settleFirst(ctx, a.d, a.run); err == nil || !a.run.unsettled {
		t.Errorf("QEMU does not answer, and it is settled: %v", err)
	}
	a.monitored(t, map[string]string{
		"qom-list": "[]", "query-named-block-nodes": "[]", "query-chardev": "[]", "query-fdsets": "[]", "query-block": "[]",
	})
	if err := a.e.settleFirst(t.Context(), a.d, a.run); err != nil || a.run.unsettled {
		t.Errorf("%v; unsettled %v", err, a.run.unsettled)
	}
	if now := aliases(a.run.doc()); slices.Contains(now, "rng0") || !slices.Equal(now, a.written(t)) {
		t.Errorf("the guest had %v and has %v, and %v are written down", before, now, a.written(t))
	}
}
