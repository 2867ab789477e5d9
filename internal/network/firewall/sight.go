package firewall

import (
	"context"
	"errors"
	"maps"
	"slices"

	"taproom/internal/host/nft"
)

// sight is what the two tables hold in one state of nf_tables, in the order of Firewall.tables. The kernel counts its changes,
// whoever makes them, so while that number is the same, reading everything again would show the same; and so it would when
// the kernel tells that others changed other tables, as firewalld does twice for each bridge. Who asks pays for one question,
// and not for what all networks together have in the tables.
type sight struct {
	generation uint32
	tables     [2]seen
}

// seen is one table. Its elements have the table's own names for the sets.
type seen struct {
	there    bool
	intact   bool // it is as it would be made
	groups   []group
	elements map[Element]bool
	sets     map[string]nft.Set // by name; only of a table that is not intact
}

// look returns what the tables hold. It reads them only if somebody may have changed them since they were read, or since the
// change of ours that followed. The caller holds the lock.
func (f *Firewall) look(ctx context.Context) (*[2]seen, error) {
	now, err := f.nft.Generation(ctx)
	if err != nil {
		return nil, err
	}
	if f.last != nil && !f.last.lasts() {
		f.last = nil
	}
	for range attempts {
		if f.last != nil && (f.last.generation == now || f.nft.Untouched(f.last.generation, now, f.named()...)) {
			f.last.generation = now
			return &f.last.tables, nil
		}
		if f.last, err = f.read(ctx, now); err != nil {
			return nil, err
		}
		if now, err = f.nft.Generation(ctx); err != nil {
			return nil, err
		}
	}
	return nil, nft.ErrChanged
}

// named are the two tables by their names.
func (f *Firewall) named() (out []nft.Table) {
	for _, t := range f.tables() {
		out = append(out, nft.Table{Family: t.family, Name: t.name})
	}
	return out
}

// lasts reports whether what was seen is true for as long as the kernel is in that state. A table of our name that somebody
// else owns goes with him, and that is no change to the kernel.
func (s *sight) lasts() bool {
	for _, t := range s.tables {
		if t.there && !t.intact {
			return false
		}
	}
	return true
}

// read reads both tables.
func (f *Firewall) read(ctx context.Context, generation uint32) (*sight, error) {
	s := &sight{generation: generation}
	for i, t := range f.tables() {
		var err error
		if s.tables[i], err = f.readTable(ctx, t); err != nil {
			return nil, err
		}
	}
	return s, nil
}

func (f *Firewall) readTable(ctx context.Context, t table) (seen, error) {
	l, err := f.nft.Dump(ctx, t.family, t.name)
	if errors.Is(err, nft.ErrNoTable) {
		return seen{}, nil
	}
	if err != nil {
		return seen{}, err
	}
	s := seen{there: true, intact: t.intact(l), groups: t.groups(l, nil), elements: map[Element]bool{}}
	for set, keys := range l.Elements {
		for _, k := range keys {
			s.elements[Element{Set: set, Key: k}] = true
		}
	}
	if !s.intact {
		s.sets = map[string]nft.Set{}
		for _, set := range l.Sets {
			s.sets[set.Name] = set
		}
	}
	return s, nil
}

// commit sends a transaction that was made for what was seen last and changes something. What becomes of the tables is for
// the caller to note. The kernel refuses it when anybody has changed anything since, and counts it as one change: a state of
// another number than the next one is somebody else's doing.
func (f *Firewall) commit(ctx context.Context, x *nft.Transaction) error {
	x.IfGeneration(f.last.generation)
	err := f.nft.Commit(ctx, x)
	if err != nil {
		f.last = nil
		return err
	}
	f.last.generation++
	return nil
}

// take notes what became of the table.
func (s *seen) take(o outcome) {
	if o.gone {
		*s = seen{}
	}
	if len(o.add) > 0 && !s.there {
		*s = seen{there: true, intact: true, elements: map[Element]bool{}}
	}
	s.groups = append(s.groups, o.groups...)
	for _, e := range o.add {
		s.elements[e] = true
	}
	for _, e := range o.del {
		delete(s.elements, e)
	}
}

// lacking are those of the elements that are not there, each once.
func (s seen) lacking(all []Element) []Element { return s.some(all, false) }

// having are those that are there, each once.
func (s seen) having(all []Element) []Element { return s.some(all, true) }

func (s seen) some(all []Element, there bool) (out []Element) {
	once := make(map[Element]bool, len(all))
	for _, e := range all {
		if s.elements[e] == there && !once[e] {
			once[e] = true
			out = append(out, e)
		}
	}
	return out
}

// sorted are all elements.
func (s seen) sorted() []Element { return slices.SortedFunc(maps.Keys(s.elements), compare) }

// inForce are the elements of a table that count, by the names that everybody uses: those of the ones named, or all.
func (s seen) inForce(t table, only []Element) (out []Element) {
	switch {
	case !s.intact:
		return nil
	case len(only) == 0:
		for e := range s.elements {
			out = append(out, Element{Set: t.prefix() + e.Set, Key: e.Key})
		}
		return out
	}
	for _, e := range s.having(t.own(only)) {
		out = append(out, Element{Set: t.prefix() + e.Set, Key: e.Key})
	}
	return out
}
