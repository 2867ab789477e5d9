package client

import (
	"context"

	"taproom/internal/api/own"
	"taproom/internal/api/remote"
)

// Filters are the network filters, and the NICs that have one.
func (c *Client) Filters(ctx context.Context) (out own.FiltersResult, err error) {
	err = c.json(ctx, remote.OwnFilters, struct{}{}, &out)
	return out, err
}

// FilterShow is what judges the frames of a guest's NICs.
func (c *Client) FilterShow(ctx context.Context, guest string) (out own.FilterShowResult, err error) {
	err = c.json(ctx, remote.OwnFilterShow, own.FilterShowRequest{Guest: guest}, &out)
	return out, err
}

// FilterStats is how often the rules of a guest's NICs were met; "" is those of all.
func (c *Client) FilterStats(ctx context.Context, guest string) (out own.FilterStatsResult, err error) {
	err = c.json(ctx, remote.OwnFilterStats, own.FilterStatsRequest{Guest: guest}, &out)
	return out, err
}

// FilterExplain is what the filters of a guest's NICs would do with a frame.
func (c *Client) FilterExplain(ctx context.Context, r own.FilterExplainRequest) (out own.FilterExplainResult, err error) {
	err = c.json(ctx, remote.OwnFilterExplain, r, &out)
	return out, err
}
