package engine

import (
	"cmp"
	"context"
	"encoding/json"
	"slices"
	"time"

	"taproom/internal/api/own"
	"taproom/internal/api/virterr"
	"taproom/internal/appliance/wire"
	"taproom/internal/engine/job"
)

const (
	// togetherWithin is how long before a guest its network may have started for the two to count as one start.
	togetherWithin = 10 * time.Second
	// helloWithin is how long the agent of a guest may take to tell of its boot.
	helloWithin = 5 * time.Second
)

// stage is a part of a start with its place in time.
type stage struct {
	name         string
	began, ended time.Time
}

// Trace implements server.Documents: the stages of a guest's last start, those of its networks where they started just
// before, and what the guest's agent tells of the boot.
func (e *Engine) Trace(ctx context.Context, what string) (own.Trace, error) {
	d, err := e.domainNamed(what)
	if err != nil {
		return own.Trace{}, err
	}
	run, err := d.running()
	if err != nil {
		return own.Trace{}, err
	}
	if run.trace == nil {
		return own.Trace{}, virterr.New(virterr.OperationInvalid, "domain '%s' was started by an earlier daemon, which took the times with it", d.label)
	}
	stages := append(e.networkStages(run), stagesOf(run.trace)...)
	stages = append(stages, e.bootStages(ctx, run)...)
	slices.SortStableFunc(stages, func(a, b stage) int { return a.began.Compare(b.began) })
	return own.Trace{Domain: d.label, Began: stages[0].began.Format(time.RFC3339Nano), Spans: spans(merged(stages))}, nil
}

func stagesOf(t *job.Trace) []stage {
	var out []stage
	for _, s := range t.Spans() {
		began := t.Begin().Add(s.Start)
		out = append(out, stage{s.Name, began, began.Add(s.Took)})
	}
	return out
}

// networkStages are those of the networks that started just before the guest.
func (e *Engine) networkStages(run *running) []stage {
	var out []stage
	for _, p := range run.rec().Ports {
		n, ok := e.networks.named(p.Network)
		if !ok {
			continue
		}
		t := n.view().trace
		if t != nil && run.trace.Begin().Sub(t.Begin()) < togetherWithin {
			for _, s := range stagesOf(t) {
				if s.name == "plan" || s.name == "links" { // the guest has such stages too
					s.name = "network " + s.name
				}
				out = append(out, s)
			}
		}
	}
	return out
}

// bootStages are what the agent in the guest tells of the boot. The guest's clock began with its kernel; where that was
// in ours follows from the moment it answers. A guest without our agent tells nothing.
func (e *Engine) bootStages(ctx context.Context, run *running) []stage {
	if run.booted.IsZero() {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, helloWithin)
	defer cancel()
	answer, err := e.askAgent(ctx, run, wire.OpHello, nil)
	if err != nil {
		return nil
	}
	var h wire.Hello
	if json.Unmarshal(answer, &h) != nil || len(h.Steps) == 0 {
		return nil
	}
	kernel := time.Now().Add(-seconds(h.Now))
	at := func(s float64) time.Time { return kernel.Add(seconds(s)) }
	first, last := h.Steps[0].At, slices.MaxFunc(h.Steps, func(a, b wire.Step) int { return cmp.Compare(a.At, b.At) }).At
	out := []stage{{"firmware", run.booted, kernel}, {"kernel", kernel, at(first)}, {"agent", at(first), at(last)}}
	for _, n := range h.NICs {
		if n.Lease != nil && n.Lease.Renewed == 0 {
			out = append(out, stage{"dhcp", at(last), at(max(last, n.Lease.BoundAt))})
		}
	}
	return out
}

func seconds(s float64) time.Duration { return time.Duration(s * float64(time.Second)) }

// merged joins neighbours of one name.
func merged(stages []stage) []stage {
	var out []stage
	for _, s := range stages {
		if n := len(out); n > 0 && out[n-1].name == s.name {
			out[n-1].ended = s.ended
			continue
		}
		out = append(out, s)
	}
	return out
}

// spans places stages on one axis from the first on.
func spans(stages []stage) []own.Span {
	out := make([]own.Span, len(stages))
	for i, s := range stages {
		out[i] = own.Span{Name: s.name, Start: s.began.Sub(stages[0].began).Microseconds(), Took: max(0, s.ended.Sub(s.began).Microseconds())}
	}
	return out
}
