package engine

import (
	"slices"
	"strings"
	"sync"
	"testing"

	"taproom/internal/spec"
)

func names(r *registry[*domain]) string {
	var out []string
	for _, d := range r.all() {
		out = append(out, d.label)
	}
	return strings.Join(out, " ")
}

func TestARegistryFindsByNameAndUUIDAndListsByName(t *testing.T) {
	t.Parallel()
	r := newRegistry[*domain]()
	var all []*domain
	for _, name := range []string{"c", "a", "b"} {
		d := newDomain(spec.NewUUID(), name, nil)
		all = append(all, d)
		if _, ok := r.add(d); !ok {
			t.Fatalf("%s was not taken in", name)
		}
	}
	if got := names(r); got != "a b c" {
		t.Errorf("listed %q", got)
	}
	if d, ok := r.named("b"); !ok || d != all[2] {
		t.Errorf("b is %v", d)
	}
	if d, ok := r.uuid(all[0].uuid); !ok || d != all[0] {
		t.Errorf("UUID of c is %v", d)
	}
	r.remove(all[1])
	if got := names(r); got != "b c" {
		t.Errorf("after a went: %q", got)
	}
	if _, ok := r.named("a"); ok {
		t.Error("a is still found")
	}
}

func TestATakenNameOrUUIDIsRefusedWithItsHolder(t *testing.T) {
	t.Parallel()
	r := newRegistry[*domain]()
	first := newDomain(spec.NewUUID(), "one", nil)
	r.add(first)
	for what, d := range map[string]*domain{
		"name": newDomain(spec.NewUUID(), "one", nil),
		"UUID": newDomain(first.uuid, "two", nil),
	} {
		if holder, ok := r.add(d); ok || holder != first {
			t.Errorf("same %s: taken in %v, holder %v", what, ok, holder)
		}
	}
	if got := names(r); got != "one" {
		t.Errorf("listed %q", got)
	}
}

func TestManyMayAskWhileTheRegistryChanges(t *testing.T) {
	t.Parallel()
	r := newRegistry[*domain]()
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for range 200 {
				d := newDomain(spec.NewUUID(), spec.NewUUID().String(), nil)
				r.add(d)
				if !slices.IsSortedFunc(r.all(), func(a, b *domain) int { return strings.Compare(a.label, b.label) }) {
					t.Error("a list out of order")
				}
				r.remove(d)
			}
		})
	}
	wg.Wait()
	if n := len(r.all()); n != 0 {
		t.Errorf("%d left", n)
	}
}
