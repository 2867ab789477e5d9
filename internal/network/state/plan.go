package state

import (
	"context"
	"fmt"
	"strings"
	"time"
)

// Step is one change of the host.
type Step interface {
	// String is the command an administrator would type for it, perhaps several lines.
	String() string
	// Apply makes the change.
	Apply(ctx context.Context, r *Run) error
	// Deletes reports whether it removes something.
	Deletes() bool
}

// Plan is what leads from one state to another, in order.
type Plan []Step

// String returns the commands, one per line. `sh -e` of it does what Apply does, except for what a comment says.
func (p Plan) String() string {
	var b strings.Builder
	for _, s := range p {
		b.WriteString(s.String())
		b.WriteByte('\n')
	}
	return b.String()
}

// WithoutDeletes returns the plan without the steps that remove something.
func (p Plan) WithoutDeletes() Plan {
	var out Plan
	for _, s := range p {
		if !s.Deletes() {
			out = append(out, s)
		}
	}
	return out
}

// StepError says which step of a plan failed. What it did before it failed is not known: observe again.
type StepError struct {
	Step Step
	Err  error
}

// Error implements error.
func (e *StepError) Error() string { return fmt.Sprintf("%s: %v", e.Step, e.Err) }

// Unwrap returns the cause.
func (e *StepError) Unwrap() error { return e.Err }

// Run is one execution of a plan.
type Run struct {
	*Env
	made map[string]int // indexes of links this execution made
}

// index returns the index of a link: that of the one this run made, else the observed one.
func (r *Run) index(name string, observed int) (int, error) {
	if i, ok := r.made[name]; ok {
		return i, nil
	}
	if observed == 0 {
		return 0, fmt.Errorf("link %s was neither seen nor made", name)
	}
	return observed, nil
}

// lookup is index for links that may lie outside what was observed, such as a bridge somebody else made. A name is good
// enough to attach something to.
func (r *Run) lookup(t target) (int, error) {
	if i, err := r.index(t.Name, t.Index); err == nil {
		return i, nil
	}
	l, err := r.Kernel.LinkByName(t.Name)
	return l.Index, err
}

// Apply carries the plan out and stops at the first error, which is a *StepError, or when ctx is done. Taps that were
// made are in e.Taps, also after an error.
func (p Plan) Apply(ctx context.Context, e *Env) error {
	r := &Run{Env: e, made: map[string]int{}}
	for _, s := range p {
		if err := ctx.Err(); err != nil {
			return &StepError{Step: s, Err: err}
		}
		began := time.Now()
		if err := s.Apply(ctx, r); err != nil {
			return &StepError{Step: s, Err: err}
		}
		if e.Timed != nil {
			e.Timed(s, began, time.Now())
		}
	}
	return nil
}
