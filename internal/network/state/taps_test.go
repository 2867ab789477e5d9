package state

import (
	"errors"
	"os"
	"testing"

	"taproom/internal/host/hosttest"
)

func TestDescriptorsOfATapThatWasRemovedAreClosed(t *testing.T) {
	t.Parallel()
	ns := hosttest.NewNS(t)
	e := newEnv(ns)
	if err := settle(e, config(1)); err != nil {
		t.Fatal(err)
	}
	first := e.Taps["vnet10"].Files[0]
	ns.Run("ip", "link", "delete", "dev", "vnet10") // by somebody else: it is made anew under its name
	if err := settle(e, config(1)); err != nil {
		t.Fatal(err)
	}
	second := e.Taps["vnet10"].Files[0]
	if err := settle(e, State{}); err != nil {
		t.Fatal(err)
	}
	for i, f := range []interface{ Close() error }{first, second} {
		if err := f.Close(); !errors.Is(err, os.ErrClosed) {
			t.Errorf("descriptor %d was still open: %v", i, err)
		}
	}
	if len(e.Taps) != 0 {
		t.Errorf("taps left: %v", e.Taps)
	}
}

func TestATapThatGoesWithItsGuestMeanwhileIsNoError(t *testing.T) {
	t.Parallel()
	e := newEnv(hosttest.NewNS(t))
	want := config(1)
	if err := settle(e, want); err != nil {
		t.Fatal(err)
	}
	cut := want.Clone()
	for name, p := range cut.Ports {
		p.Master, p.MTU, p.Held = "", 1400, true
		cut.Ports[name] = p
	}
	o, err := Observe(t.Context(), e, allVirbr)
	if err != nil {
		t.Fatal(err)
	}
	p, err := Diff(e, o, cut)
	if err != nil || len(p) == 0 {
		t.Fatalf("plan %v, %v", p, err)
	}
	if err := e.CloseTaps(); err != nil { // the guest ends here
		t.Fatal(err)
	}
	if err := p.Apply(t.Context(), e); err != nil {
		t.Error(err)
	}
	if err := settle(e, cut); err != nil { // and is not made again
		t.Error(err)
	}
	if _, err := set(e, allVirbr, State{}); err != nil {
		t.Error(err)
	}
	empty(t, e)
}
