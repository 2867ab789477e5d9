package engine

import (
	"testing"
	"time"

	"taproom/internal/qemu/qmp"
	"taproom/internal/spec"
)

func TestFirmwareThatResetsAgainRebootsNothing(t *testing.T) {
	t.Parallel()
	const guest, host = true, false
	type reset struct {
		after   time.Duration // the one before
		by      bool
		belongs bool
	}
	for name, story := range map[string][]reset{
		"the guest reboots, and firmware resets again": {{0, guest, false}, {30 * time.Millisecond, guest, true}, {30 * time.Millisecond, guest, true}},
		"the guest reboots twice":                      {{0, guest, false}, {5 * time.Second, guest, false}},
		"the host resets, and firmware again":          {{0, host, false}, {30 * time.Millisecond, guest, true}},
		"the same on a busy host":                      {{0, host, false}, {5 * time.Second, guest, true}, {5 * time.Second, guest, false}},
		"the host resets twice":                        {{0, host, false}, {time.Millisecond, host, false}},
		"the host resets, and later the guest reboots": {{0, host, false}, {11 * time.Second, guest, false}},
	} {
		var r resets
		at := time.Now()
		for i, step := range story {
			at = at.Add(step.after)
			if got := r.belongs(at, step.by); got != step.belongs {
				t.Errorf("%s: reset %d belongs to the one before: %v", name, i+1, got)
			}
		}
	}
}

// A guest that answers the power button with a reboot of its own has done what it was asked for.
func TestAPowerOffAfterAGuestRebootedByItselfIsMeant(t *testing.T) {
	t.Parallel()
	e := small(t)
	doc, err := spec.ParseDomain([]byte("<domain type='qemu'><name>d</name><uuid>11111111-2222-3333-4444-555555555555</uuid><memory>1024</memory><vcpu>1</vcpu><on_reboot>restart</on_reboot></domain>"))
	if err != nil {
		t.Fatal(err)
	}
	d := newDomain(*doc.UUID, doc.Name, nil)
	run := newRunning(record{Name: doc.Name, UUID: *doc.UUID, Phase: phaseRunning, Rebooting: true}, doc)
	d.update(func(v *view) { v.run = run })
	e.onReset(t.Context(), d, run, qmp.Event{Name: "RESET", Time: time.Now(), Data: []byte(`{"guest": true}`)})
	e.work.Wait()
	items, _, err := e.records.Load()
	if run.rebooting.Load() || err != nil || len(items) != 1 || items[0].Head.Rebooting {
		t.Errorf("it is still on its way to a reboot: %v; written down: %+v, %v", run.rebooting.Load(), items, err)
	}
}
