package engine

import (
	"context"
	"errors"
	"slices"

	"taproom/internal/network/helper"
	"taproom/internal/network/portforward"
	"taproom/internal/network/state"
	"taproom/internal/spec"
)

// bar notes a port of the loopback that somebody else has: the network does without it until it is tried again. It reports
// whether that is news.
func (t *targets) bar(id spec.UUID, e *helper.ForwardTakenError) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, b := range t.barred[id] {
		if b.Forward.Protocol == e.Forward.Protocol && b.Forward.Listen == e.Forward.Listen {
			return false
		}
	}
	if t.barred == nil {
		t.barred = map[spec.UUID][]*helper.ForwardTakenError{}
	}
	t.barred[id] = append(slices.Clone(t.barred[id]), e)
	return true
}

// unbar has all of them tried again.
func (t *targets) unbar(id spec.UUID) {
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.barred, id)
}

// bars are those of a network.
func (t *targets) bars(id spec.UUID) []*helper.ForwardTakenError {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.barred[id]
}

// without are the same as who compiles a network leaves them out.
func (t *targets) without(id spec.UUID) (out []helper.Forward) {
	for _, b := range t.bars(id) {
		out = append(out, b.Forward)
	}
	return out
}

// barsError are the ports that a network does without; nil for none.
func (t *targets) barsError(id spec.UUID) error {
	var all []error
	for _, b := range t.bars(id) {
		all = append(all, b)
	}
	return errors.Join(all...)
}

// doing calls what makes an active network be as it should, and again without each port of the loopback that turns out to be
// somebody else's: for one port that is taken, a network does not go without all it has. It reports whether there was such a port.
func (e *Engine) doing(id spec.UUID, try func() error) (barred bool, err error) {
	for {
		err := try()
		var taken *helper.ForwardTakenError
		if !errors.As(err, &taken) || !e.targets.bar(id, taken) {
			return barred, err
		}
		barred = true
	}
}

// convergeButBarred makes the host be as an active network wants it, as far as its ports of the loopback are nobody else's.
func (e *Engine) convergeButBarred(ctx context.Context, n *network, live *spec.Network, before ...state.State) (want state.State, err error) {
	_, err = e.doing(n.uuid, func() error {
		if want, err = e.compileNetwork(live); err != nil {
			return err
		}
		_, err = e.converge(ctx, want, want.Scope(before...))
		return err
	})
	return want, err
}

// barredWhy says why a forward of the loopback alone leads nowhere; "" where it does not, or is not of the loopback alone.
func (e *Engine) barredWhy(n *network, f portforward.Forward) string {
	for _, b := range e.targets.bars(n.uuid) {
		at := b.Forward.Listen
		if b.Forward.Protocol == f.Protocol && at.Addr() == f.Address && f.Port <= at.Port() && at.Port() <= f.End {
			return b.Error()
		}
	}
	return ""
}
