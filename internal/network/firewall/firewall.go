package firewall

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"golang.org/x/sys/unix"

	"taproom/internal/host/nft"
)

// DefaultTable is the name of the table where no other is asked for. Daemons that share a network namespace need
// a table each, because every element of the table counts as theirs.
const DefaultTable = "taproom"

// attempts bounds how often an Apply looks again because somebody changed nf_tables between its look and its change.
const attempts = 16

// Firewall is the two tables. It keeps nothing in memory; its methods may be called from several goroutines.
type Firewall struct {
	nft   nft.Backend
	table string
	flags nft.TableFlags // of its tables
}

var _ Backend = (*Firewall)(nil)

// New returns the firewall in tables of that name, which need not exist.
func New(b nft.Backend, table string) *Firewall { return &Firewall{nft: b, table: table} }

func (f *Firewall) tables() []table {
	return []table{{family: nft.IPv4, name: f.table, flags: f.flags}, {family: nft.IPv6, name: f.table, flags: f.flags}}
}

// Observe returns the elements that are in force, ordered. A table whose rules are not as they should be enforces
// nothing reliably, so it has none: the plan that follows adds them all, and Apply then rebuilds the table.
func (f *Firewall) Observe(ctx context.Context) ([]Element, error) {
	var out []Element
	for _, t := range f.tables() {
		l, err := f.nft.Dump(ctx, t.family, t.name)
		if errors.Is(err, nft.ErrNoTable) {
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("observe the firewall: %w", err)
		}
		if !t.intact(l) {
			continue
		}
		for _, e := range elementsOf(l) {
			out = append(out, Element{Set: t.prefix() + e.Set, Key: e.Key})
		}
	}
	slices.SortFunc(out, compare)
	return out, nil
}

// elementsOf returns what is in a table, by its own names for the sets.
func elementsOf(l *nft.Listing) []Element {
	var out []Element
	for set, keys := range l.Elements {
		for _, k := range keys {
			out = append(out, Element{Set: set, Key: k})
		}
	}
	slices.SortFunc(out, compare)
	return out
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

// raced reports whether a transaction failed only because the table appeared, went or changed since it was looked at.
func raced(err error) bool {
	if errors.Is(err, nft.ErrChanged) {
		return true
	}
	var e *nft.Error
	if !errors.As(err, &e) || !errors.Is(err, unix.EEXIST) {
		return false
	}
	_, isTable := e.Object.(nft.Table)
	return isTable
}

func (f *Firewall) try(ctx context.Context, add, del []Element) error {
	x := &nft.Transaction{}
	look := &sight{}
	for _, t := range f.tables() {
		if err := f.follow(ctx, x, look, t, t.own(add), t.own(del)); err != nil {
			return err
		}
	}
	if x.Len() == 0 && x.Err() == nil {
		return nil
	}
	if err := f.nft.Commit(ctx, x); err != nil {
		return fmt.Errorf("change the firewall: %w", err)
	}
	return nil
}

// sight is the state of nf_tables that a transaction is made for; both tables must have been seen in the same.
type sight struct {
	seen bool
	gen  uint32
}

func (s *sight) at(x *nft.Transaction, l *nft.Listing) error {
	if s.seen && s.gen != l.Generation {
		return nft.ErrChanged
	}
	s.seen, s.gen = true, l.Generation
	x.IfGeneration(l.Generation)
	return nil
}

// follow appends what one table needs.
func (f *Firewall) follow(ctx context.Context, x *nft.Transaction, s *sight, t table, add, del []Element) error {
	if len(add)+len(del) == 0 {
		return nil
	}
	l, err := f.nft.Layout(ctx, t.family, t.name)
	if err != nil && !errors.Is(err, nft.ErrNoTable) {
		return fmt.Errorf("look at the firewall: %w", err)
	}
	switch {
	case l == nil:
		if len(add) > 0 {
			t.build(x, add)
		}
		return nil
	case !t.intact(l):
		if err := f.rebuild(ctx, x, t, add, del); err != nil {
			return err
		}
	default:
		if err := f.change(ctx, x, t, l, add, del); err != nil {
			return err
		}
	}
	return s.at(x, l)
}

// build appends a table that was not there.
func (t table) build(x *nft.Transaction, elements []Element) {
	t.addBase(x)
	for _, g := range t.groups(nil, elements) {
		t.addGroup(x, g)
	}
	t.add(x, elements)
}

// rebuild replaces a table that is not as it should be, keeping the elements that are valid. In one transaction, so
// that no packet meets a table without rules.
func (f *Firewall) rebuild(ctx context.Context, x *nft.Transaction, t table, add, del []Element) error {
	full, err := f.nft.Dump(ctx, t.family, t.name)
	if errors.Is(err, nft.ErrNoTable) {
		return nft.ErrChanged
	}
	if err != nil {
		return fmt.Errorf("look at the firewall: %w", err)
	}
	x.Delete(t.object())
	keep := slices.DeleteFunc(elementsOf(full), func(e Element) bool {
		s, _ := full.Set(e.Set)
		want := t.set(e.Set)
		return s.Type != want.Type || s.Data != want.Data || t.check(e) != nil || slices.Contains(del, e) || slices.ContainsFunc(add, func(a Element) bool { return leadElsewhere(a, e) })
	})
	for _, e := range add {
		if !slices.Contains(keep, e) {
			keep = append(keep, e)
		}
	}
	if len(keep) > 0 {
		t.build(x, keep)
	}
	return nil
}

// change appends what a sound table needs.
func (f *Firewall) change(ctx context.Context, x *nft.Transaction, t table, l *nft.Listing, add, del []Element) error {
	if len(add) == 0 {
		empty, err := f.wouldBeEmpty(ctx, t, del)
		if err != nil {
			return err
		}
		if empty {
			x.Delete(t.object())
			return nil
		}
	}
	had := t.groups(l, nil)
	for _, g := range t.groups(nil, add) {
		if !slices.Contains(had, g) {
			t.addGroup(x, g)
		}
	}
	if err := f.deleteMapped(ctx, x, t, l, del); err != nil {
		return err
	}
	t.add(x, add)
	gone := bySet(del)
	t.forget(x, gone[bridges])
	for set, keys := range gone {
		if s, ok := l.Set(set); !ok || s.Data != "" {
			continue
		}
		// Adding first makes the deletion of what is gone already a success, without reading the set.
		x.Add(nft.Elements{Set: t.set(set), Keys: keys})
		x.Delete(nft.Elements{Set: t.set(set), Keys: keys})
	}
	return nil
}

// wouldBeEmpty looks at the set that nearly every network is in first, so that the others are read at the end only.
func (f *Firewall) wouldBeEmpty(ctx context.Context, t table, del []Element) (bool, error) {
	gone := make(map[Element]bool, len(del))
	for _, e := range del {
		gone[e] = true
	}
	keys, err := f.nft.Elements(ctx, t.set(bridges))
	if errors.Is(err, nft.ErrNoTable) {
		return false, nft.ErrChanged
	}
	if err != nil {
		return false, fmt.Errorf("look at the firewall: %w", err)
	}
	for _, k := range keys {
		if !gone[Element{Set: bridges, Key: k}] {
			return false, nil
		}
	}
	l, err := f.nft.Dump(ctx, t.family, t.name)
	if errors.Is(err, nft.ErrNoTable) {
		return false, nft.ErrChanged
	}
	if err != nil {
		return false, fmt.Errorf("look at the firewall: %w", err)
	}
	for _, e := range elementsOf(l) {
		if !gone[e] {
			return false, nil
		}
	}
	return true, nil
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
