package server

import (
	"taproom/internal/api/own"
	"taproom/internal/api/remote"
)

// bindForwards binds the call about ports of the host that lead to guests.
func bindForwards(p *program) {
	bindJSON(p, remote.OwnForwards, func(q *request, a own.ForwardsRequest) (own.ForwardsResult, error) {
		all, err := q.backend.Forwards(q.ctx, a.Network)
		return own.ForwardsResult{Forwards: append([]own.Forward{}, all...)}, err
	})
}
