package admission_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"

	"taproom/internal/appliance/admission"
	"taproom/internal/host"
)

func TestAsManyAppliancesAsThereIsMemoryFor(t *testing.T) {
	t.Parallel()
	const gib = 1 << 30
	var available atomic.Uint64
	available.Store(16*gib/16 + 2*gib) // the reserve, and two
	c := admission.NewCrowd(func() (host.MemoryRoom, error) {
		return host.MemoryRoom{Total: 16 * gib, Available: available.Load()}, nil
	}, gib)
	for range 2 {
		if err := c.Enter(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	third := make(chan error)
	go func() { third <- c.Enter(t.Context()) }()
	select {
	case err := <-third:
		t.Fatalf("there was room for a third one: %v", err)
	default:
	}
	c.Started() // and shows in the memory: here, by taking none of it
	if err := <-third; err != nil {
		t.Error(err)
	}
	over, cancel := context.WithCancel(t.Context())
	cancel()
	if err := c.Enter(over); !errors.Is(err, context.Canceled) {
		t.Errorf("nobody waits any more: %v", err)
	}
	for range 2 {
		c.Started()
	}
	for range 3 {
		c.Leave()
	}
	available.Store(gib)
	var no *admission.NoRoom
	if err := c.Enter(t.Context()); !errors.As(err, &no) {
		t.Errorf("nobody is there who could leave: %v", err)
	}
}
