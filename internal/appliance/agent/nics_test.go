package agent

import (
	"context"
	"testing"
)

func TestWhoWaitsForAChangeIsWokenByIt(t *testing.T) {
	t.Parallel()
	n := newNICs(&console{})
	wake := n.wake()
	select {
	case <-wake:
		t.Error("woken by nothing")
	default:
	}
	n.update(func() {})
	<-wake
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if n.waitCarrier(ctx, "absent0") {
		t.Error("a link that is not there has a carrier")
	}
}
