package nft

import (
	"slices"

	"golang.org/x/sys/unix"
)

// fakeState is the copy that a Fake's transaction works on.
type fakeState struct {
	tables map[tableID]*Listing
	handle uint64
}

func (s *fakeState) next() uint64 {
	s.handle++
	return s.handle
}

// tableOf is the table that an object is, or is in.
func tableOf(object any) tableID {
	switch x := object.(type) {
	case Table:
		return tableID{x.Family, x.Name}
	case Chain:
		return tableID{x.Family, x.Table}
	case Set:
		return tableID{x.Family, x.Table}
	case Rule:
		return tableID{x.Family, x.Table}
	case Elements:
		return tableID{x.Set.Family, x.Set.Table}
	}
	return tableID{}
}

func (s *fakeState) apply(o operation) unix.Errno {
	if t, ok := o.object.(Table); ok {
		return s.table(o.verb, t)
	}
	l, ok := s.tables[tableOf(o.object)]
	if !ok {
		return unix.ENOENT
	}
	switch x := o.object.(type) {
	case Chain:
		return s.chain(l, o.verb, x)
	case Set:
		return s.set(l, o.verb, x)
	case Rule:
		return s.rule(l, o.verb, x)
	case Elements:
		return changeElements(l, o.verb, x)
	}
	return unix.EOPNOTSUPP
}

func (s *fakeState) table(v verb, t Table) unix.Errno {
	id := tableID{t.Family, t.Name}
	l, exists := s.tables[id]
	switch {
	case v == verbAdd && exists && t.Flags != l.Table.Flags:
		if t.Flags != l.Table.Flags|Owned || l.Table.Flags&Persistent == 0 {
			return unix.EOPNOTSUPP
		}
		l.Table.Flags = t.Flags
		return 0
	case v == verbAdd && exists:
		return 0
	case v == verbCreate && exists:
		return unix.EEXIST
	case v == verbAdd || v == verbCreate:
		t.Handle = s.next()
		s.tables[id] = &Listing{Table: t, Elements: map[string][]string{}}
		return 0
	case !exists:
		return unix.ENOENT
	case v == verbFlush:
		l.Rules = nil
		return 0
	}
	delete(s.tables, id)
	return 0
}

func (s *fakeState) chain(l *Listing, v verb, c Chain) unix.Errno {
	old, exists := l.Chain(c.Name)
	switch {
	case v == verbCreate && exists:
		return unix.EEXIST
	case v == verbAdd && exists:
		if old.Hook != "" && c.Hook != "" {
			if old.Hook != c.Hook || old.Type != c.Type || old.Priority != c.Priority {
				return unix.EEXIST
			}
			for i := range l.Chains {
				if l.Chains[i].Name == c.Name {
					l.Chains[i].Policy = c.Policy
				}
			}
		}
		return 0
	case v == verbAdd || v == verbCreate:
		c.Handle = s.next()
		l.Chains = append(l.Chains, c)
		return 0
	case !exists:
		return unix.ENOENT
	}
	if v == verbDelete {
		for _, r := range l.Rules {
			if r.Chain != c.Name && refersTo(r, func(x Expr) bool { j, ok := x.(Verdict); return ok && j.Chain == c.Name }) {
				return unix.EBUSY
			}
		}
		if l.mapped(c.Name) {
			return unix.EBUSY
		}
		l.Chains = slices.DeleteFunc(l.Chains, func(x Chain) bool { return x.Name == c.Name })
	}
	l.Rules = slices.DeleteFunc(l.Rules, func(r Rule) bool { return r.Chain == c.Name })
	return 0
}

// readsSet is the set or map that an expression looks a key up in.
func readsSet(e Expr) string {
	switch x := e.(type) {
	case In:
		return x.Set
	case NAT:
		return x.Map
	case Count:
		return x.Set
	case OverLimit:
		return x.Set
	case VerdictMap:
		return x.Map
	}
	return ""
}

// leadsTo is the chain that an element of a verdict map leads to.
func leadsTo(set Set, element string) string {
	if set.Data != verdictData {
		return ""
	}
	_, verdict := splitElement(element)
	v, _ := parseVerdict(verdict)
	return v.Chain
}

// mapped reports whether an element of a verdict map leads to a chain.
func (l *Listing) mapped(chain string) bool {
	for _, s := range l.Sets {
		if slices.ContainsFunc(l.Elements[s.Name], func(e string) bool { return leadsTo(s, e) == chain }) {
			return true
		}
	}
	return false
}

func refersTo(r Rule, is func(Expr) bool) bool { return slices.ContainsFunc(r.Exprs, is) }

func (s *fakeState) set(l *Listing, v verb, x Set) unix.Errno {
	old, exists := l.Set(x.Name)
	switch {
	case v == verbCreate && exists, v == verbAdd && exists && old.typeText() != x.typeText():
		return unix.EEXIST
	case v == verbAdd && exists:
		return 0
	case v == verbAdd || v == verbCreate:
		x.Handle = s.next()
		l.Sets = append(l.Sets, x)
		return 0
	case !exists:
		return unix.ENOENT
	}
	if v == verbDelete {
		for _, r := range l.Rules {
			if refersTo(r, func(e Expr) bool { return readsSet(e) == x.Name }) {
				return unix.EBUSY
			}
		}
		l.Sets = slices.DeleteFunc(l.Sets, func(y Set) bool { return y.Name == x.Name })
	}
	delete(l.Elements, x.Name)
	return 0
}

func (s *fakeState) rule(l *Listing, v verb, r Rule) unix.Errno {
	if _, ok := l.Chain(r.Chain); !ok {
		return unix.ENOENT
	}
	if v == verbDelete {
		n := len(l.Rules)
		l.Rules = slices.DeleteFunc(l.Rules, func(x Rule) bool { return x.Handle == r.Handle && x.Chain == r.Chain })
		if len(l.Rules) == n {
			return unix.ENOENT
		}
		return 0
	}
	for _, x := range r.Exprs {
		switch e := x.(type) {
		case Verdict:
			if _, ok := l.Chain(e.Chain); e.Chain != "" && !ok {
				return unix.ENOENT
			}
		case In, NAT, Count, OverLimit, VerdictMap:
			set, ok := l.Set(readsSet(e))
			_, isNAT := e.(NAT)
			switch {
			case !ok:
				return unix.ENOENT
			case isNAT && set.Data == "":
				return unix.EINVAL
			}
		}
	}
	r.Handle = s.next()
	if v == verbInsert {
		l.Rules = slices.Insert(l.Rules, 0, r)
		return 0
	}
	l.Rules = append(l.Rules, r)
	return 0
}

func changeElements(l *Listing, v verb, e Elements) unix.Errno {
	set, ok := l.Set(e.Set.Name)
	if !ok {
		return unix.ENOENT
	}
	if set.typeText() != e.Set.typeText() {
		return unix.EINVAL
	}
	have := make(map[string]string, len(l.Elements[set.Name])) // by key, in a map without what it leads to
	for _, k := range l.Elements[set.Name] {
		key, _ := splitElement(k)
		have[key] = k
	}
	for _, element := range e.Keys {
		element, err := set.Canonical(element)
		if err != nil {
			return unix.EINVAL
		}
		if c := leadsTo(set, element); c != "" && v != verbDelete {
			if _, ok := l.Chain(c); !ok {
				return unix.ENOENT
			}
		}
		k, _ := splitElement(element)
		old, exists := have[k]
		switch {
		case v == verbDelete && !exists:
			return unix.ENOENT
		case v == verbCreate && exists, v == verbAdd && exists && old != element:
			return unix.EEXIST
		case v == verbDelete:
			delete(have, k)
		default:
			have[k] = element
		}
	}
	keys := make([]string, 0, len(have))
	for _, element := range have {
		keys = append(keys, element)
	}
	slices.Sort(keys)
	l.Elements[set.Name] = keys
	return 0
}
