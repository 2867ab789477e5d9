package client

import (
	"context"

	"taproom/internal/api/own"
	"taproom/internal/api/remote"
)

// Why asks what becomes of packets that guests send.
func (c *Client) Why(ctx context.Context, r own.WhyRequest) (out own.WhyResult, err error) {
	err = c.json(ctx, remote.OwnWhy, r, &out)
	return out, err
}
