package nic

import (
	"context"
	"errors"
	"testing"

	"taproom/internal/host/hosttest"
)

func TestALinkIsAwaitedUntilItCarriesFrames(t *testing.T) {
	t.Parallel()
	ns := hosttest.NewNS(t)
	ns.Keep("link d0")
	ns.Run("ip", "link", "add", "d0", "type", "veth", "peer", "name", "d1")
	ns.Run("ip", "link", "set", "d0", "up") // without its peer it has no carrier
	ctx, cancel := context.WithCancel(t.Context())
	ns.Do(func() {
		if Ready("d0") || Ready("none") {
			t.Error("a link without a carrier is ready")
		}
		cancel()
		if err := AwaitReady(ctx, "d0"); !errors.Is(err, context.Canceled) {
			t.Errorf("nobody waits any more: %v", err)
		}
	})
	ns.Run("ip", "link", "set", "d1", "up")
	ns.Do(func() {
		if err := AwaitReady(t.Context(), "d0"); err != nil {
			t.Error(err)
		}
	})
	ns.Run("ip", "link", "del", "d0")
}
