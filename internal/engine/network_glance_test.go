package engine

import (
	"testing"
	"time"
)

func TestLooksAtOthersRulesLeaveTheProcessorToNetworksThatStart(t *testing.T) {
	t.Parallel()
	for _, took := range []time.Duration{0, time.Millisecond, 10 * time.Millisecond, time.Second} {
		pause := glancePause(took)
		if pause < glanceAfter || pause+took < glanceShare*took {
			t.Errorf("after a look of %v the next comes %v later", took, pause)
		}
	}
	if pause := glancePause(time.Millisecond); pause != glanceAfter {
		t.Errorf("a look that costs little has the next wait for %v", pause)
	}
}
