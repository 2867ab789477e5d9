package nftables

import (
	"cmp"
	"maps"
	"slices"

	"taproom/internal/host/nft"
)

// elements replaces the elements of the ports that change: what goes before what comes, since a key of a map leads to one thing.
func (p *plan) elements() {
	gone, come := map[home][]string{}, map[home][]string{}
	for _, name := range slices.Sorted(maps.Keys(p.ports)) {
		old, now := p.s.ports[name], p.ports[name]
		if old == nil {
			old = &attachedPort{}
		}
		if now == nil {
			now = &attachedPort{}
		}
		replace := func(set home, was, is string) {
			if was == is {
				return
			}
			if was != "" {
				gone[set] = append(gone[set], was)
			}
			if is != "" {
				come[set] = append(come[set], is)
			}
		}
		replace(home{inBridge, mapOut}, led(name, old.out), led(name, now.out))
		replace(home{inBridge, mapIn}, led(name, old.in), led(name, now.in))
		for i := range tables {
			replace(home{i, setPorts}, only(old.listed[i], name), only(now.listed[i], name))
		}
		replace(home{inBridge, setTracked}, only(old.tracked, name), only(now.tracked, name))
		for set, values := range old.values {
			for _, v := range values {
				if !slices.Contains(now.values[set], v) {
					gone[home{inBridge, set}] = append(gone[home{inBridge, set}], name+" . "+v)
				}
			}
		}
		for set, values := range now.values {
			for _, v := range values {
				if !slices.Contains(old.values[set], v) {
					come[home{inBridge, set}] = append(come[home{inBridge, set}], name+" . "+v)
				}
			}
		}
	}
	for _, at := range slices.SortedFunc(maps.Keys(gone), home.compare) {
		p.tx.Delete(nft.Elements{Set: p.set(at), Keys: gone[at]})
	}
	for _, at := range slices.SortedFunc(maps.Keys(come), home.compare) {
		p.tx.Create(nft.Elements{Set: p.set(at), Keys: come[at]})
	}
}

// home is where elements are.
type home struct {
	table int
	set   string
}

func (a home) compare(b home) int { return cmp.Or(a.table-b.table, cmp.Compare(a.set, b.set)) }

func led(name, verdict string) string {
	if verdict == "" {
		return ""
	}
	return name + " : " + verdict
}

func only(there bool, name string) string {
	if there {
		return name
	}
	return ""
}

// set finds the type of a set by its name.
func (p *plan) set(at home) nft.Set {
	for _, s := range layout(at.table, p.b.table, false).sets {
		if s.Name == at.set {
			return s
		}
	}
	if s, ok := p.sets[at.set]; ok {
		return s
	}
	return p.s.sets[at.set]
}

// took notes what became of the tables. The kernel counts the transaction as one change. What was repaired is read again.
func (p *plan) took() {
	s := p.s
	if p.cleared || !s.intact || !s.there() || s.marking != p.marking {
		p.b.last = nil
		return
	}
	s.generation++
	for name, a := range p.ports {
		if old := s.ports[name]; old != nil {
			if x := s.programs[old.id()]; x != nil {
				x.users--
			}
		}
		delete(s.ports, name)
		if a != nil {
			s.ports[name] = a
		}
	}
	for id, x := range p.programs {
		delete(s.programs, id)
		if x != nil {
			s.programs[id] = x
		}
	}
	for _, a := range p.ports {
		if a != nil {
			s.programs[a.id()].users++
		}
	}
	maps.Copy(s.sets, p.sets)
}
