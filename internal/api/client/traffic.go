package client

import (
	"context"

	"taproom/internal/api/own"
	"taproom/internal/api/remote"
)

// NetworkTraffic is what was forwarded for a network; "" is all networks that are active.
func (c *Client) NetworkTraffic(ctx context.Context, network string) (out own.TrafficResult, err error) {
	err = c.json(ctx, remote.OwnTraffic, own.TrafficRequest{Network: network}, &out)
	return out, err
}
