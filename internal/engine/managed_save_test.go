package engine

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"taproom/internal/api/virterr"
	"taproom/internal/engine/store"
)

// A guest that starts from elsewhere writes to its disks; what its own image remembers of them would be wrong then.
func TestADomainWithAnImageOfItsOwnStartsFromThatAlone(t *testing.T) {
	t.Parallel()
	a := guestOn(t, "/none")
	a.d.update(func(v *view) { v.run, v.ref.ManagedSave = nil, true })
	err := startsElsewhere(a.d)
	if virterr.CodeOf(err) != virterr.OperationInvalid || !strings.Contains(err.Error(), "virsh managedsave-remove "+a.d.label) {
		t.Errorf("got %v", err)
	}
	a.d.update(func(v *view) { v.ref.ManagedSave = false })
	if err := startsElsewhere(a.d); err != nil {
		t.Error(err)
	}
}

// A daemon that finds a state gone which was whole does not end the guest that it was of: its QEMU has it yet.
func TestAGuestWhoseImageIsGoneIsNotEnded(t *testing.T) {
	t.Parallel()
	a := guestOn(t, "/none")
	path := filepath.Join(t.TempDir(), "image")
	s := saving{Path: path, Temp: tempName(path, "1"), Done: true}
	i, err := a.e.createImage(s, false, true)
	if err != nil {
		t.Fatal(err)
	}
	defer i.f.Close()
	if err := errors.Join(s.identify(a.e.k, i), os.Remove(s.Temp)); err != nil {
		t.Fatal(err)
	}
	a.run.rec().Saving = &s
	if err := a.e.saveRecord(a.run); err != nil {
		t.Fatal(err)
	}
	err = a.e.finishSave(t.Context(), a.d, store.Item[record]{Head: *a.run.rec()})
	if !errors.Is(err, errImageGone) || a.d.view().ref.ManagedSave {
		t.Errorf("got %v, managed save %v", err, a.d.view().ref.ManagedSave)
	}
	_ = a.recorded(t) // the record is there
}
