package client

import (
	"context"

	"taproom/internal/api/own"
	"taproom/internal/api/remote"
)

// Bridge asks for a bridge that takes a NIC's place on the network.
func (c *Client) Bridge(ctx context.Context, r own.BridgeRequest) (out own.BridgeResult, err error) {
	err = c.json(ctx, remote.OwnBridge, r, &out)
	return out, err
}
