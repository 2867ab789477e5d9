package server

import (
	"context"

	"taproom/internal/api/own"
)

// FilterViews shows network filters at work.
type FilterViews interface {
	// Filters are all, and the NICs that have one.
	Filters(ctx context.Context) (own.FiltersResult, error)
	// FilterShow is what judges the frames of a guest's NICs.
	FilterShow(ctx context.Context, r own.FilterShowRequest) (own.FilterShowResult, error)
	// FilterStats is how often rules were met.
	FilterStats(ctx context.Context, r own.FilterStatsRequest) (own.FilterStatsResult, error)
	// FilterExplain is what the filters of a guest's NICs would do with a frame. None is sent.
	FilterExplain(ctx context.Context, r own.FilterExplainRequest) (own.FilterExplainResult, error)
}
