package server

import (
	"taproom/internal/api/own"
	"taproom/internal/api/remote"
)

// bindFilters binds the calls about network filters that libvirt does not have.
func bindFilters(p *program) {
	type none struct{}
	bindJSON(p, remote.OwnFilters, func(q *request, _ none) (own.FiltersResult, error) { return q.backend.Filters(q.ctx) })
	bindJSON(p, remote.OwnFilterShow, func(q *request, a own.FilterShowRequest) (own.FilterShowResult, error) {
		return q.backend.FilterShow(q.ctx, a)
	})
	bindJSON(p, remote.OwnFilterStats, func(q *request, a own.FilterStatsRequest) (own.FilterStatsResult, error) {
		return q.backend.FilterStats(q.ctx, a)
	})
	bindJSON(p, remote.OwnFilterExplain, func(q *request, a own.FilterExplainRequest) (own.FilterExplainResult, error) {
		return q.backend.FilterExplain(q.ctx, a)
	})
}
