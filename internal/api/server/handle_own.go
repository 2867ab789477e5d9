package server

import (
	"encoding/json"
	"fmt"

	"taproom/internal/api/own"
	"taproom/internal/api/remote"
	"taproom/internal/api/virterr"
)

// bindJSON binds a call of taproom's own program. An empty request is the zero value.
func bindJSON[A, R any](p *program, number uint32, f func(q *request, a A) (R, error)) {
	bind(p, number, func(q *request, a *remote.JSON, r *remote.JSON) error {
		var args A
		if len(a.B) > 0 {
			if err := json.Unmarshal(a.B, &args); err != nil {
				return virterr.New(virterr.InvalidArg, "request is not the expected JSON: %w", err).In(virterr.FromRPC)
			}
		}
		result, err := f(q, args)
		if err != nil {
			return err
		}
		if r.B, err = json.Marshal(result); err != nil {
			return fmt.Errorf("encode the answer: %w", err)
		}
		return nil
	})
}

func bindOwn(p *program) {
	type none struct{}
	bindJSON(p, remote.OwnApply, func(q *request, a own.ApplyRequest) (own.ApplyResult, error) {
		return q.backend.Apply(q.ctx, a)
	})
	bindJSON(p, remote.OwnPlan, func(q *request, _ none) (own.PlanResult, error) { return q.backend.Plan(q.ctx) })
	bindJSON(p, remote.OwnStatus, func(q *request, _ none) (own.Status, error) { return q.backend.Status(q.ctx) })
	bindJSON(p, remote.OwnTrace, func(q *request, a own.TraceRequest) (own.Trace, error) {
		return q.backend.Trace(q.conn.asked, a.Domain)
	})
	bindJSON(p, remote.OwnAgent, func(q *request, a own.AgentRequest) (json.RawMessage, error) {
		return q.backend.Agent(q.conn.asked, a.Domain, a.Request)
	})
	bindLeases(p)
	bindForwards(p)
	bindFilters(p)
	bindJSON(p, remote.OwnWhy, func(q *request, a own.WhyRequest) (own.WhyResult, error) { return q.backend.Why(q.conn.asked, a) })
	bindJSON(p, remote.OwnBridge, func(q *request, a own.BridgeRequest) (own.BridgeResult, error) { return q.backend.LANBridge(q.ctx, a) })
	bindJSON(p, remote.OwnMissing, func(q *request, _ none) (own.Missing, error) { return q.conn.srv.missing.list(), nil })
	bindJSON(p, remote.OwnVersion, func(q *request, _ none) (own.Version, error) { return q.backend.DaemonVersion(), nil })
}
