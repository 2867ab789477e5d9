package engine

import (
	"context"
	"errors"
	"testing"

	"taproom/internal/engine/store"
	"taproom/internal/network/why"
	"taproom/internal/spec"
)

func TestWhatIsNotTakenBackStaysWrittenDown(t *testing.T) {
	t.Parallel()
	e := small(t)
	var err error
	if e.repairs, err = store.Open[repaired](e.k, e.paths.Repairs(), false); err != nil {
		t.Fatal(err)
	}
	id := spec.NewUUID()
	done := repaired{Network: "lab", UUID: id, Repairs: []why.Repair{{Undo: [][]string{{"false"}}}}}
	if err := e.repairs.Put(store.Item[repaired]{Key: id.String(), Head: done}); err != nil {
		t.Fatal(err)
	}
	over, cancel := context.WithCancel(t.Context())
	cancel()
	err = e.unrepair(over, id)
	_, written, lerr := e.repairsOf(id)
	if !errors.Is(err, context.Canceled) || !written || lerr != nil {
		t.Errorf("cut short: %v; it is written down: %t, %v", err, written, lerr)
	}
	err = e.unrepair(t.Context(), id)
	_, written, lerr = e.repairsOf(id)
	if err != nil || written || lerr != nil {
		t.Errorf("what somebody took back himself: %v; it is written down: %t, %v", err, written, lerr)
	}
}
