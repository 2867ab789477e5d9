package proto

import (
	"strings"
	"testing"
)

func TestEveryOperationHasAName(t *testing.T) {
	t.Parallel()
	seen := map[string]Op{}
	for op := OpPing; op <= OpReread; op++ {
		name := op.String()
		if other, twice := seen[name]; twice || strings.HasPrefix(name, "operation ") {
			t.Errorf("%d is called %q, as %d is", uint8(op), name, uint8(other))
		}
		seen[name] = op
	}
	if got := (OpReread + 1).String(); got != "operation 39" {
		t.Errorf("one that does not exist is called %q", got)
	}
}
