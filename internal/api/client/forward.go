package client

import (
	"context"

	"taproom/internal/api/own"
	"taproom/internal/api/remote"
)

// Forwards are the ports of the host that lead to guests of a network; "" is all networks.
func (c *Client) Forwards(ctx context.Context, network string) (out own.ForwardsResult, err error) {
	err = c.json(ctx, remote.OwnForwards, own.ForwardsRequest{Network: network}, &out)
	return out, err
}
