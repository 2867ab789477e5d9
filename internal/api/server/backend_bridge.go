package server

import (
	"context"

	"taproom/internal/api/own"
)

// LANBridges makes bridges that take NICs' places on the network.
type LANBridges interface {
	// LANBridge does what is asked for. A move goes on whatever becomes of ctx.
	LANBridge(ctx context.Context, r own.BridgeRequest) (own.BridgeResult, error)
}
