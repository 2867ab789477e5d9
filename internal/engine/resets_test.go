package engine

import (
	"testing"
	"time"
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
