package firewall

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"

	"taproom/internal/host/nft"
)

// DefaultTable is the name of the table where no other is asked for. Daemons that share a network namespace need
// a table each, because every element of the table counts as theirs.
const DefaultTable = "taproom"

// attempts bounds how often an Apply looks again because somebody changed nf_tables between its look and its change.
const attempts = 16

// Firewall is the two tables. Its methods may be called from several goroutines. It knows what it last read of them, and for
// which state of nf_tables; it counts for nothing once the kernel is in another one.
type Firewall struct {
	nft   nft.Backend
	table string
	flags nft.TableFlags // of its tables

	mu   sync.Mutex // held while the tables are looked at and changed
	last *sight     // nil: nothing is known
}

var _ Backend = (*Firewall)(nil)

// New returns the firewall in tables of that name, which need not exist.
func New(b nft.Backend, table string) *Firewall { return &Firewall{nft: b, table: table} }

func (f *Firewall) tables() []table {
	return []table{{family: nft.IPv4, name: f.table, flags: f.flags}, {family: nft.IPv6, name: f.table, flags: f.flags}}
}

// Observe returns the elements that are in force, ordered: those of the ones named, or all. A table whose rules are not as they
// should be enforces nothing reliably, so it has none: the plan that follows adds them all, and Apply then rebuilds the table.
func (f *Firewall) Observe(ctx context.Context, only ...Element) ([]Element, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	s, err := f.look(ctx)
	if err != nil {
		return nil, fmt.Errorf("observe the firewall: %w", err)
	}
	var out []Element
	for i, t := range f.tables() {
		out = append(out, s[i].inForce(t, only)...)
	}
	slices.SortFunc(out, compare)
	return out, nil
}

func compare(a, b Element) int {
	switch {
	case a.Set < b.Set || a.Set == b.Set && a.Key < b.Key:
		return -1
	case a == b:
		return 0
	}
	return 1
}

// Apply makes all of add exist and none of del, in one transaction with the rules they need. An element in both lists is
// deleted. With its last element a table goes.
func (f *Firewall) Apply(ctx context.Context, add, del []Element) error {
	if err := f.checkAll(add, del); err != nil {
		return err
	}
	add = slices.DeleteFunc(slices.Clone(add), func(e Element) bool { return slices.Contains(del, e) })
	if len(add)+len(del) == 0 {
		return nil
	}
	for range attempts {
		err := f.try(ctx, add, del)
		if !raced(err) {
			return err
		}
	}
	return fmt.Errorf("change the firewall: somebody else changed nf_tables %d times in between: %w", attempts, nft.ErrChanged)
}

// raced reports whether a transaction failed only because somebody changed nf_tables since it was looked at.
func raced(err error) bool { return errors.Is(err, nft.ErrChanged) }

func (f *Firewall) try(ctx context.Context, add, del []Element) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	s, err := f.look(ctx)
	if err != nil {
		return fmt.Errorf("look at the firewall: %w", err)
	}
	x := &nft.Transaction{}
	var after [2]outcome
	for i, t := range f.tables() {
		after[i] = t.follow(x, s[i], t.own(add), t.own(del))
	}
	if x.Len() == 0 && x.Err() == nil {
		return nil
	}
	if err := f.commit(ctx, x); err != nil {
		return fmt.Errorf("change the firewall: %w", err)
	}
	for i := range s {
		s[i].take(after[i])
	}
	return nil
}

// outcome is what a transaction makes of a table: it goes, with all it has, or comes, or has other groups and elements.
type outcome struct {
	gone     bool
	groups   []group // that come
	add, del []Element
}

// follow appends what one table needs.
func (t table) follow(x *nft.Transaction, s seen, add, del []Element) outcome {
	switch {
	case len(add)+len(del) == 0:
		return outcome{}
	case !s.there:
		return t.build(x, add)
	case !s.intact:
		return t.rebuild(x, s, add, del)
	}
	return t.change(x, s, add, del)
}

// build appends a table that was not there, if it is to have elements.
func (t table) build(x *nft.Transaction, elements []Element) outcome {
	if len(elements) == 0 {
		return outcome{}
	}
	t.addBase(x)
	groups := t.groups(nil, elements)
	for _, g := range groups {
		t.addGroup(x, g)
	}
	t.add(x, elements)
	return outcome{groups: groups, add: elements}
}

// rebuild replaces a table that is not as it should be, keeping the elements that are valid. In one transaction, so
// that no packet meets a table without rules.
func (t table) rebuild(x *nft.Transaction, s seen, add, del []Element) outcome {
	x.Delete(t.object())
	keep := slices.DeleteFunc(s.sorted(), func(e Element) bool {
		have := s.sets[e.Set]
		want := t.set(e.Set)
		return have.Type != want.Type || have.Data != want.Data || t.check(e) != nil || slices.Contains(del, e) || slices.ContainsFunc(add, func(a Element) bool { return leadElsewhere(a, e) })
	})
	for _, e := range add {
		if !slices.Contains(keep, e) {
			keep = append(keep, e)
		}
	}
	after := t.build(x, keep)
	after.gone = true
	return after
}

// change appends what a sound table needs. What is there, or is not, needs nothing: the kernel counts no transaction that
// changes nothing.
func (t table) change(x *nft.Transaction, s seen, add, del []Element) outcome {
	add, del = s.lacking(add), s.having(del)
	if len(add) == 0 && len(del) == len(s.elements) {
		x.Delete(t.object())
		return outcome{gone: true}
	}
	after := outcome{add: add, del: del}
	for _, g := range t.groups(nil, add) {
		if !slices.Contains(s.groups, g) {
			t.addGroup(x, g)
			after.groups = append(after.groups, g)
		}
	}
	gone := bySet(del)
	for _, set := range slices.Sorted(maps.Keys(gone)) { // first: what a key of a map leads to may be another thing now
		x.Delete(nft.Elements{Set: t.set(set), Keys: gone[set]})
	}
	t.add(x, add)
	t.forget(x, s.leavers(gone))
	return after
}

// add appends elements, one object a set, in the order of the sets' names.
func (t table) add(x *nft.Transaction, elements []Element) {
	groups := bySet(elements)
	for _, name := range slices.Sorted(maps.Keys(groups)) {
		x.Add(nft.Elements{Set: t.set(name), Keys: groups[name]})
	}
}

func bySet(elements []Element) map[string][]string {
	out := map[string][]string{}
	for _, e := range elements {
		out[e.Set] = append(out[e.Set], e.Key)
	}
	return out
}
