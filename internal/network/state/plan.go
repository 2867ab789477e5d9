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

// Error implements error. Of a step that says all of what is to be served it names whom, and of many elements the first.
func (e *StepError) Error() string {
	if b, ok := e.Step.(interface{ brief() string }); ok {
		return fmt.Sprintf("%s: %v", b.brief(), e.Err)
	}
	return fmt.Sprintf("%s: %v", e.Step, e.Err)
}

// Unwrap returns the cause.
func (e *StepError) Unwrap() error { return e.Err }

// Run is one execution of a plan.
type Run struct {
	*Env
	made  map[string]int   // indexes of links this execution made
	found map[string]int   // indexes of links outside of what was observed
	lost  map[string]error // links it could not make, since their names are taken
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
	if i, ok := r.found[t.Name]; ok { // the NICs of a guest are mostly on one bridge
		return i, nil
	}
	l, err := r.Kernel.LinkByName(t.Name)
	if err == nil {
		r.found[t.Name] = l.Index
	}
	return l.Index, err
}

// Apply carries the plan out and stops at the first error, which is a *StepError, or when ctx is done. Requests about links
// that follow each other are under way together; of those behind one that fails some may be done. A link of a guest whose
// name is taken stops nothing: what is about it is left out, and when all else is done the error is a *TakenError. Taps
// that were made are in e.Taps, also after an error.
func (p Plan) Apply(ctx context.Context, e *Env) error {
	if s, has := e.Services.(ServiceSettler); has {
		defer s.Settle()
	}
	r := &Run{Env: e, made: map[string]int{}, found: map[string]int{}, lost: map[string]error{}}
	for len(p) > 0 {
		s, n := p[0], 1
		if err := ctx.Err(); err != nil {
			return &StepError{Step: s, Err: err}
		}
		began := time.Now()
		var err error
		if _, ok := s.(piped); ok {
			n, err = r.pipe(p)
		} else if !r.without(s) {
			err = r.one(ctx, s)
		}
		if err != nil {
			return err
		}
		if e.Timed != nil {
			e.Timed(s, began, time.Now())
		}
		p = p[n:]
	}
	return r.taken()
}

// one carries a step out by itself.
func (r *Run) one(ctx context.Context, s Step) error {
	if err := s.Apply(ctx, r); err != nil && !r.lose(s, err) {
		return &StepError{Step: s, Err: err}
	}
	return nil
}
