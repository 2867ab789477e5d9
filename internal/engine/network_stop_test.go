package engine

import (
	"errors"
	"path/filepath"
	"testing"

	"taproom/internal/api/virterr"
	"taproom/internal/engine/store"
	"taproom/internal/host"
	"taproom/internal/network/state"
)

// A stop of a network that is stopped, and of which parts are left, removes them.
func TestNetworkStop_RemovesWhatAnEarlierStopLeft(t *testing.T) {
	t.Parallel()
	e := small(t)
	n, _ := labBridge(t, e, &meanwhile{})
	var err error
	if e.actives, err = store.Open[activeNetwork](e.k, filepath.Join(t.TempDir(), "networks"), false); err != nil {
		t.Fatal(err)
	}
	made, err := e.compileNetwork(n.view().live)
	if err != nil {
		t.Fatal(err)
	}
	e.networksLeft.add(&networkLeftover{label: n.label, uuid: n.uuid, made: state.State{Bridges: made.Bridges}})
	n.update(func(v *netView) { v.live, v.def = nil, &defined{} })
	if err := e.DestroyNetwork(t.Context(), n.uuid); err != nil {
		t.Error(err)
	}
	if _, err := e.k.LinkByName("virbr-lab"); !errors.Is(err, host.ErrNoLink) {
		t.Errorf("its bridge: %v, want that there is none", err)
	}
	var answer *virterr.Error
	if err := e.DestroyNetwork(t.Context(), n.uuid); !errors.As(err, &answer) || answer.Code != virterr.OperationInvalid {
		t.Errorf("once more: %v, want that it is not active", err)
	}
}
