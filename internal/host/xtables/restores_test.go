package xtables

import (
	"testing"
	"testing/synctest"
	"time"
)

func TestAProcessIsOursWhileItRunsAndAMomentLonger(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var r restores
		_, over := r.begin()
		over() // of one that never was
		begun, over := r.begin()
		if r.mu.TryLock() {
			t.Error("it could be asked for before its number is known, and would be taken for somebody else's")
		}
		begun(7)
		<-time.After(time.Hour) // by the bubble's clock: nobody waits
		if !r.has(7) || r.has(8) || r.has(0) {
			t.Errorf("7 runs, and nobody else: %v", r.ended)
		}
		over()
		<-time.After(aMoment)
		if !r.has(7) {
			t.Error("what it did may not have been read yet")
		}
		<-time.After(time.Millisecond)
		if r.has(7) {
			t.Error("its number may be somebody else's")
		}
		begun, over = r.begin()
		begun(9)
		over()
		if len(r.ended) != 1 {
			t.Errorf("kept are %v", r.ended)
		}
	})
}
