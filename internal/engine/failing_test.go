package engine

import (
	"encoding/json"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"taproom/internal/api/server"
	"taproom/internal/guest"
	"taproom/internal/host"
	"taproom/internal/qemu/qmp"
	"taproom/internal/spec"
)

// monitored gives a guest a QEMU that answers each command with nothing, or with what is said here; "silence" is no answer.
// What it was asked is sent to asked.
func (a *agentDouble) monitored(t *testing.T, answers map[string]string) (asked <-chan string) {
	t.Helper()
	ours, theirs := net.Pipe()
	said := make(chan string, 100)
	over := make(chan struct{})
	go func() {
		defer close(over)
		_, _ = theirs.Write([]byte(`{"QMP": {"version": {"qemu": {"major": 10, "minor": 0, "micro": 0}, "package": ""}, "capabilities": []}}` + "\n"))
		for d := json.NewDecoder(theirs); ; {
			var c struct {
				Execute string `json:"execute"`
				ID      uint64 `json:"id"`
			}
			if d.Decode(&c) != nil {
				return
			}
			said <- c.Execute
			answer := answers[c.Execute]
			if answer == "silence" {
				continue
			}
			if answer == "" {
				answer = "{}"
			}
			b, _ := json.Marshal(map[string]any{"return": json.RawMessage(answer), "id": c.ID})
			_, _ = theirs.Write(append(b, '\n'))
		}
	}()
	mon, err := qmp.New(t.Context(), a.e.k, ours, "double")
	if err != nil {
		t.Fatal(err)
	}
	a.run.mon = mon
	t.Cleanup(func() { _ = mon.Close(); _ = theirs.Close(); <-over })
	return said
}

// recorded is what is written down of the guest.
func (a *agentDouble) recorded(t *testing.T) record {
	t.Helper()
	items, _, err := a.e.records.Load()
	if err != nil || len(items) != 1 {
		t.Fatalf("%d records, %v", len(items), err)
	}
	return items[0].Head
}

// hooked has the engine's calls announced.
func (a *agentDouble) hooked(t *testing.T, hook func(call string)) {
	t.Helper()
	k := host.New(host.Options{Hook: hook})
	t.Cleanup(k.Close)
	a.e.k = k
}

// Whoever destroys a guest waits for the job that holds its slot, and QEMU may have stopped answering.
func TestDestroyDoesNotWaitForASilentQEMUToBeSetBack(t *testing.T) {
	t.Parallel()
	a := guestOn(t, "/none")
	asked := a.monitored(t, map[string]string{"query-cpus-fast": "silence"})
	j, err := a.d.slot.Begin(t.Context(), "pin a virtual CPU")
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan error, 1)
	go func() {
		_, err := a.e.retuneLive(j.Context(), a.d, func(doc *spec.Domain) error {
			doc.OS.Type.Value = "hvm"
			cpuTune(doc).VCPUPins = []spec.VCPUPin{{VCPU: "0", CPUSet: "0"}}
			return nil
		})
		j.End()
		done <- err
	}()
	for c := range asked {
		if c == "query-cpus-fast" {
			break
		}
	}
	taken := make(chan error, 1)
	go func() {
		j, err := a.d.slot.Preempt(t.Context(), "destroy")
		if err == nil {
			j.End()
		}
		taken <- err
	}()
	select {
	case err := <-taken:
		if failed := <-done; err != nil || failed == nil {
			t.Errorf("destroy: %v; what it cut short: %v", err, failed)
		}
	case <-time.After(60 * time.Second):
		t.Error("destroy waits for a QEMU that does not answer")
		_ = a.run.mon.Close()
		<-done
	}
}

// A daemon that is killed while the guest is to go on must not find a record that says that its state is safe.
func TestAnImageThatCannotGetItsNameIsNotWrittenDownAsWhole(t *testing.T) {
	t.Parallel()
	a := guestOn(t, "/none")
	a.monitored(t, nil)
	path := filepath.Join(t.TempDir(), "image")
	if err := os.MkdirAll(filepath.Join(path, "not empty"), 0o700); err != nil {
		t.Fatal(err)
	}
	a.run.saving = &saving{Path: path, Temp: tempName(path, "d"), Resume: true, Done: true}
	if err := a.e.saveRecord(a.run); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(a.run.saving.Temp, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	removed := false
	a.hooked(t, func(call string) {
		if strings.HasPrefix(call, "file remove .taproom-saving-") {
			removed = true
			if s := a.recorded(t).Saving; s != nil && s.Done {
				t.Error("the image is about to be removed, and the record says that it is whole")
			}
		}
	})
	s := &savingJob{e: a.e, d: a.d, run: a.run, request: server.SaveRequest{Path: path}}
	if err := s.publish(t.Context()); err == nil || !removed {
		t.Errorf("an image got the name of a folder (%v), or is left (%v)", err, !removed)
	}
	if a.run.saving != nil || a.recorded(t).Saving != nil {
		t.Errorf("the guest goes on, and is still being saved: %+v", a.recorded(t).Saving)
	}
}

// A save failed and QEMU did not let the guest go on then. It is resumed by hand, and the next daemon leaves it alone.
func TestAResumedGuestIsNotBeingSavedAnyMore(t *testing.T) {
	t.Parallel()
	a := guestOn(t, "/none")
	a.monitored(t, nil)
	a.run.saving = &saving{Path: "/none", Resume: true}
	a.d.update(func(v *view) { v.ref.State, v.ref.Reason = server.DomainPaused, server.PausedSave })
	if err := a.e.ResumeDomain(t.Context(), a.d.uuid); err != nil {
		t.Fatal(err)
	}
	if s := a.recorded(t).Saving; s != nil || a.d.view().ref.State != server.DomainRunning {
		t.Errorf("the guest is in state %d, and is still being saved: %+v", a.d.view().ref.State, s)
	}
}

// An image that a guest went on from does not fit its disks any more: it goes, whatever can be written down of that, and
// with the image gone the guest must stay.
func TestAGuestThatRunsAndItsImageAreNotBothThere(t *testing.T) {
	t.Parallel()
	for _, paused := range []bool{false, true} {
		a := guestOn(t, "/none")
		a.monitored(t, map[string]string{"query-chardev": "[]"})
		image := filepath.Join(t.TempDir(), "image")
		if err := os.WriteFile(image, nil, 0o600); err != nil {
			t.Fatal(err)
		}
		a.e.log, a.e.cfg.ReadyWithin = small(t).log, time.Minute
		a.run.rec().Image = image
		records := a.e.paths.Records()
		spoil := func() { _ = os.RemoveAll(records) }
		if paused {
			a.hooked(t, func(call string) {
				if call == "file remove image" {
					spoil()
				}
			})
		} else {
			spoil()
		}
		s := &starting{e: a.e, d: a.d, doc: a.run.doc(), running: a.run, paused: paused, from: &source{}, compiled: &guest.Compiled{}}
		err := s.settle(t.Context())
		if _, serr := os.Stat(image); err != nil || serr == nil {
			t.Errorf("paused %v: %v, and the image is there: %v", paused, err, serr == nil)
		}
	}
}
