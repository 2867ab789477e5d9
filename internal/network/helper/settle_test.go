package helper_test

import (
	"strings"
	"testing"
	"time"
)

// The last one to let go of a packet socket has the kernel wait, and who removes a bridge at that time waits for both.
func TestThePacketSocketOfANetworkGoesAfterItsLink(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	n := dual()
	s.serveDual(n)
	sockets := func() int { return strings.Count(s.host.Run("cat", "/proc/net/packet"), "\n") - 1 }
	if err := s.h.Remove(s.ctx, n.UUID); err != nil {
		t.Fatal(err)
	}
	if left := sockets(); left != 1 {
		t.Errorf("%d packet sockets are there before the link has gone, want the daemon's", left)
	}
	s.host.Run("ip", "link", "delete", n.Bridge)
	s.h.Settle()
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for sockets() > 0 {
		select {
		case <-tick.C:
		case <-s.ctx.Done():
			t.Fatal("the packet socket stays for ever")
		}
	}
}
