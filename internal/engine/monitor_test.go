package engine

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"taproom/internal/api/server"
	"taproom/internal/qemu/qmp"
	"taproom/internal/spec"
)

// The event is one of QEMU 7.2, for a disk that -blockdev made.
func TestAnIOErrorIsToldByPathAndAlias(t *testing.T) {
	t.Parallel()
	e := small(t)
	doc, err := spec.ParseDomain([]byte(`<domain type='qemu'><name>d</name><uuid>11111111-2222-3333-4444-555555555555</uuid><memory>1024</memory><vcpu>1</vcpu><devices>
<disk type='file' device='disk'><driver name='qemu' type='qcow2'/><source file='/images/system'/><target dev='vda' bus='virtio'/></disk>
<disk type='file' device='disk'><driver name='qemu' type='qcow2'/><source file='/images/data'/><target dev='vdb' bus='virtio'/><alias name='virtio-disk1'/></disk>
</devices></domain>`))
	if err != nil {
		t.Fatal(err)
	}
	d := newDomain(*doc.UUID, doc.Name, nil)
	run := newRunning(record{Name: doc.Name, UUID: *doc.UUID, ID: 3}, doc)
	d.update(func(v *view) { v.run, v.ref.ID, v.ref.State = run, 3, server.DomainRunning })
	ref := d.view().ref
	var told []server.Event
	defer e.Subscribe(func(ev server.Event) { told = append(told, ev) })()
	e.onIOError(t.Context(), d, run, qmp.Event{Name: "BLOCK_IO_ERROR", Data: []byte(
		`{"device": "", "nospace": true, "node-name": "vdb-format", "reason": "No space left on device", "operation": "write", "action": "stop"}`)})
	paused := ref
	paused.State, paused.Reason = server.DomainPaused, server.PausedIoerror
	want := []server.Event{
		server.DomainIOError{Domain: ref, Path: "/images/data", Alias: "virtio-disk1", Action: 1, Reason: "enospc"},
		server.DomainLifecycle{Domain: paused, Event: server.EventSuspended, Detail: server.EventSuspendedIoerror},
	}
	if diff := cmp.Diff(want, told); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
