package nwfilter

import (
	"fmt"
	"maps"
	"slices"
)

// expansion counts through the combinations of values that a rule is written out for. Iterators whose lists can be left
// open are not counted through.
type expansion struct {
	slots     map[*use]SlotName
	values    map[*use][]string
	iterators []int
	length    map[int]int
	at        map[int]int
}

// list returns the values that an access goes through: all of the variable, or one element.
func (in *instance) list(u *use) ([]string, error) {
	all := in.vars[u.access.name].values
	if u.access.element < 0 {
		return all, nil
	}
	if u.access.element >= len(all) {
		return nil, in.fail(u, fmt.Errorf("%s has %d values, counted from 0", u.access.name, len(all)))
	}
	return all[u.access.element : u.access.element+1], nil
}

// expansion decides for a rule which of its variables are left open, and goes to the first combination of the others.
func (c *compiler) expansion(in *instance) (*expansion, error) {
	x := &expansion{slots: map[*use]SlotName{}, values: map[*use][]string{}, length: map[int]int{}, at: map[int]int{}}
	long := map[int][]*use{} // by iterator, those with several values
	limited := in.role(roleConnLimit) != nil
	for i := range in.uses {
		u := &in.uses[i]
		if u.access == nil {
			continue
		}
		values, err := in.list(u)
		if err != nil {
			return nil, err
		}
		x.values[u] = values
		if len(values) == 1 {
			continue
		}
		id := u.access.iterator
		for _, other := range long[id] {
			if n := len(x.values[other]); n != len(values) {
				return nil, in.fail(u, fmt.Errorf("it has %d values and %s, which goes along with it, %d; give both as many, or use another iterator, as in $%s[@%d]",
					len(values), other.access, n, u.access.name, id+1))
			}
		}
		long[id] = append(long[id], u)
	}
	for id, uses := range long {
		if len(uses) > 1 || !in.open(uses[0]) || uses[0].not || limited {
			x.length[id] = len(x.values[uses[0]])
		}
	}
	x.iterators = slices.Sorted(maps.Keys(x.length))
	product := 1
	for _, n := range x.length {
		if product *= n; product > maxRules {
			return nil, &SizeError{Root: c.root, What: "rules", Most: maxRules}
		}
	}
	for i := range in.uses {
		u := &in.uses[i]
		values := x.values[u]
		if u.access == nil {
			continue
		}
		if _, counted := x.length[u.access.iterator]; !in.open(u) || counted && len(values) > 1 {
			c.written = c.written || in.vars[u.access.name].fromNIC
			continue
		}
		slot, err := c.slot(in, u, values)
		if err != nil {
			return nil, err
		}
		x.slots[u] = slot
		c.opened = append(c.opened, open{in, u})
	}
	return x, nil
}

// open reports whether the values can be left open: a condition of equality alone, on values that come from the NIC.
func (in *instance) open(u *use) bool {
	return u.single && in.vars[u.access.name].fromNIC
}

// of is the lookup of the present combination.
func (x *expansion) of(u *use) (string, SlotName) {
	if slot, ok := x.slots[u]; ok {
		return "", slot
	}
	values := x.values[u]
	if len(values) == 1 {
		return values[0], ""
	}
	return values[x.at[u.access.iterator]], ""
}

// next goes to the next combination, the highest iterator fastest.
func (x *expansion) next() bool {
	for _, id := range slices.Backward(x.iterators) {
		if x.at[id]++; x.at[id] < x.length[id] {
			return true
		}
		x.at[id] = 0
	}
	return false
}
