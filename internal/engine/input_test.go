package engine

import (
	"encoding/json"
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"taproom/internal/api/server"
	"taproom/internal/api/virterr"
	"taproom/internal/qemu/qmp"
	"taproom/internal/spec"
)

// The answer is one of QEMU 7.2, shortened.
func TestDisksThatFailedAreNamedByTheirTarget(t *testing.T) {
	t.Parallel()
	var blocks []blockStatus
	if err := json.Unmarshal([]byte(`[
{"io-status": "nospace", "device": "", "qdev": "/machine/peripheral/virtio-disk0/virtio-backend", "type": "unknown"},
{"io-status": "ok", "qdev": "ide0-0-0"}, {"qdev": "floppy0"},
{"io-status": "failed", "qdev": "scsi0-0-0-1"}, {"io-status": "failed", "qdev": "not-ours"}]`), &blocks); err != nil {
		t.Fatal(err)
	}
	disk := func(target, alias string) spec.Disk {
		return spec.Disk{Target: spec.DiskTarget{Dev: target}, Alias: &spec.Alias{Name: alias}}
	}
	got := failedDisks(blocks, []spec.Disk{disk("vda", "virtio-disk0"), disk("hda", "ide0-0-0"), disk("fda", "floppy0"), disk("sdb", "scsi0-0-0-1"), disk("vdb", "virtio-disk1")})
	want := []server.DiskError{{Target: "vda", Reason: server.DiskErrorNoSpace}, {Target: "sdb", Reason: server.DiskErrorUnspecified}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestWhetherAGuestCanBeChangedIsSaid(t *testing.T) {
	t.Parallel()
	a := guestOn(t, "/nowhere")
	a.run.mon = qmp.Absent("/nowhere", errors.New("it is stopped"))
	if i, err := a.e.DomainControl(a.d.uuid); i.State != server.ControlError || i.Details != server.ControlErrorMonitor || err != nil {
		t.Errorf("a guest whose monitor is gone: %+v (%v)", i, err)
	}
	a.d.update(func(v *view) { v.run = nil })
	if i, err := a.e.DomainControl(a.d.uuid); virterr.CodeOf(err) != virterr.NoDomain {
		t.Errorf("a guest that does not run: %+v (%v)", i, err)
	}
	if _, since := a.d.slot.Holder(); !since.IsZero() {
		t.Errorf("nobody holds the slot since %v", since)
	}
	j, err := a.d.slot.Begin(t.Context(), "x")
	if err != nil {
		t.Fatal(err)
	}
	defer j.End()
	if name, since := a.d.slot.Holder(); name != "x" || time.Since(since) > time.Minute {
		t.Errorf("%q holds the slot since %v", name, since)
	}
}
