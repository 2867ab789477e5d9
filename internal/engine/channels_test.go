package engine

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestAChannelIsWaitedForUntilTheGuestOpensIt(t *testing.T) {
	t.Parallel()
	var c channels
	c.set("channel1", true) // another one
	got := make(chan (<-chan struct{}), 1)
	go func() {
		closed, err := c.await(t.Context(), "channel0")
		if err != nil {
			t.Error(err)
		}
		got <- closed
	}()
	c.set("channel1", false)
	if !c.set("channel0", true) || c.set("channel0", true) {
		t.Error("opening is news once")
	}
	closed := <-got
	if diff := cmp.Diff(map[string]bool{"channel0": true}, c.connected()); diff != "" {
		t.Error(diff)
	}
	select {
	case <-closed:
		t.Error("it is open, and told closed")
	default:
	}
	if !c.set("channel0", false) || c.set("channel0", false) {
		t.Error("closing is news once")
	}
	<-closed
}

func TestNobodyWaitsForAChannelOfAGuestThatEnded(t *testing.T) {
	t.Parallel()
	var c channels
	c.set("channel0", true)
	closed, err := c.await(t.Context(), "channel0")
	if err != nil {
		t.Fatal(err)
	}
	failed := make(chan error, 1)
	go func() {
		_, err := c.await(t.Context(), "channel1")
		failed <- err
	}()
	c.end()
	c.end()
	<-closed
	if err := <-failed; !errors.Is(err, errChannelClosed) {
		t.Errorf("waiting ended with %v, want %v", err, errChannelClosed)
	}
	if c.set("channel0", true) {
		t.Error("a guest that ended opened a channel")
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
	defer cancel()
	var other channels
	if _, err := other.await(ctx, "channel0"); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("waiting in vain ended with %v", err)
	}
}
