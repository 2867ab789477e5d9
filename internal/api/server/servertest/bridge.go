package servertest

import (
	"context"

	"taproom/internal/api/own"
)

// LANBridge implements server.LANBridges: there are none.
func (f *Fake) LANBridge(_ context.Context, r own.BridgeRequest) (own.BridgeResult, error) {
	return own.BridgeResult{Bridge: own.LANBridge{Bridge: r.Bridge, NIC: r.NIC}}, f.enter("LANBridge")
}
