package state

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"taproom/internal/host"
)

// piped is a step that is one request to the kernel. Those that follow each other in a plan are sent one behind the other,
// and their answers read together: the links of a guest cost one conversation, and not one for each change of each.
type piped interface {
	Step
	// send sends it. done is called when it is answered, by Flush at the latest.
	send(p *host.Pipeline, r *Run, done func(error))
}

// ofLink is a step on one link that its plan makes, or that exists. Where the plan finds the link's name taken, it goes on
// without it.
type ofLink interface {
	// about is the link's name.
	about() string
}

// TakenError says which links were not made, since somebody else has made ones of their names. Everything else in the plan
// was done.
type TakenError struct {
	Names []string // sorted
	err   error    // why, of the first
}

// Error implements error.
func (e *TakenError) Error() string {
	if len(e.Names) == 1 {
		return e.err.Error()
	}
	return fmt.Sprintf("%v; so are %s", e.err, strings.Join(e.Names[1:], ", "))
}

// Unwrap returns why the first was not made: it is a ForeignError.
func (e *TakenError) Unwrap() error { return e.err }

// lose notes a link whose name is taken, and reports whether err says that.
func (r *Run) lose(s Step, err error) bool {
	l, ok := s.(ofLink)
	if !ok || !errors.Is(err, host.ErrTaken) {
		return false
	}
	r.lost[l.about()] = err
	return true
}

// without reports whether a step is about a link that could not be made.
func (r *Run) without(s Step) bool {
	l, ok := s.(ofLink)
	return ok && r.lost[l.about()] != nil
}

// taken is what was not made, or nil.
func (r *Run) taken() error {
	if len(r.lost) == 0 {
		return nil
	}
	names := slices.SortedFunc(maps.Keys(r.lost), func(a, b string) int { return cmp.Or(cmp.Compare(len(a), len(b)), strings.Compare(a, b)) })
	return &TakenError{Names: names, err: r.lost[names[0]]}
}

// pipe carries out the steps at the head of a plan that are requests, and returns how many they are.
func (r *Run) pipe(plan Plan) (n int, err error) {
	p := r.Kernel.Pipeline()
	var failed *StepError
	for _, s := range plan {
		request, ok := s.(piped)
		if !ok || failed != nil {
			break
		}
		n++
		if r.without(s) {
			continue
		}
		request.send(p, r, func(err error) {
			if err != nil && !r.lose(s, err) && failed == nil {
				failed = &StepError{Step: s, Err: err}
			}
		})
	}
	p.Flush()
	if failed != nil {
		return n, failed
	}
	return n, nil
}

// alone carries one request out by itself.
func alone(r *Run, s piped) error {
	var out error
	p := r.Kernel.Pipeline()
	s.send(p, r, func(err error) { out = err })
	p.Flush()
	return out
}
