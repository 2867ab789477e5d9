package helper

import (
	"testing"

	"taproom/internal/spec"
)

func TestANetworkIsUnservedUntilItIsSetAndOnlyWhereNoneWasSetMeanwhile(t *testing.T) {
	t.Parallel()
	one, two := spec.UUID{1}, spec.UUID{2}
	var u unserved
	if u.set(one) {
		t.Error("nobody asked for it")
	}
	u.note(u.now(), []Observed{{UUID: two}}, []spec.UUID{one, two})
	if u.set(two) {
		t.Error("one that is served is taken for unserved")
	}
	if !u.set(one) || u.set(one) {
		t.Error("one that was asked for is unserved once, until it is set")
	}
	u.note(u.now(), nil, []spec.UUID{one})
	u.forget(one)
	if u.set(one) {
		t.Error("one that is no more is kept")
	}
	for i := range 3 * maxUnserved {
		u.note(u.now(), nil, []spec.UUID{{2, byte(i), byte(i >> 8)}})
	}
	if len(u.ids) > maxUnserved {
		t.Errorf("%d are kept of networks that nobody sets", len(u.ids))
	}
	// It is asked for while it is set: the answer may be of before.
	asked := u.now()
	u.set(one)
	u.note(asked, nil, []spec.UUID{one})
	if u.set(one) {
		t.Error("an answer of before it was set counts")
	}
	// The question came while it was being set, and so did the answer: the end of that is what counts.
	u.set(one)
	u.note(u.now(), nil, []spec.UUID{one})
	u.set(one)
	if u.set(one) {
		t.Error("an answer of while it was being set counts")
	}
}
