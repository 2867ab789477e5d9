package firewall

import (
	"errors"
	"fmt"
	"net/netip"
	"strings"

	"taproom/internal/host/nft"
	"taproom/internal/network/state"
)

// Element is one membership: a Set of the package's comment and a Key in it.
type Element = state.Element

// Backend is what a plan needs of a firewall. Firewall implements it on nf_tables, Group on another Backend.
type Backend = state.FirewallBackend

// ErrElement says that an element cannot be: no such set, or a key that does not fit it.
var ErrElement = errors.New("invalid firewall element")

// setType is the type of a set by its name; empty for a name that is none of ours.
func (t table) setType(name string) string {
	switch name {
	case bridges:
		return "ifname"
	case same:
		return "ifname . ifname"
	}
	g, kind := t.groupOf(name)
	if kind == "" {
		return ""
	}
	return t.groupType(g, kind)
}

// own returns the elements that are in this table, by its own names for the sets.
func (t table) own(elements []Element) []Element {
	var out []Element
	for _, e := range elements {
		six := strings.HasPrefix(e.Set, ip6)
		if six == t.v6() {
			out = append(out, Element{Set: strings.TrimPrefix(e.Set, ip6), Key: e.Key})
		}
	}
	return out
}

// check refuses what would be in a set and never match. The set has the table's own name.
func (t table) check(e Element) error {
	if t.setType(e.Set) == "" {
		return fmt.Errorf("%w: no set %q: use bridges, same, or net, nat, in, devnet, devnat, devin, snat, snatports or ports (with a range) or hairpin with a prefix length of 1 to 32, or forwards, forwards_any or targets; for IPv6 the same after ip6/, up to 128, without snat", ErrElement, t.prefix()+e.Set)
	}
	x := &nft.Transaction{}
	if x.Add(nft.Elements{Set: t.set(e.Set), Keys: []string{e.Key}}); x.Err() != nil {
		return fmt.Errorf("%w: %w", ErrElement, x.Err())
	}
	g, kind := t.groupOf(e.Set)
	switch {
	case kind == "":
		return nil
	case g.isForward():
		return t.checkForward(e)
	}
	address := strings.Split(e.Key, " . ")[0]
	switch kind {
	case netSets, inSets: // after the bridge
		address = strings.Split(e.Key, " . ")[1]
	case snatSets, snatPortsSets:
		address, _, _ = strings.Cut(e.Key, " : ")
		c, err := t.set(e.Set).Canonical(e.Key)
		if err != nil {
			return fmt.Errorf("%w: %w", ErrElement, err)
		}
		if c != e.Key {
			return fmt.Errorf("%w: write %s as %s", ErrElement, e.Key, c)
		}
	}
	a, err := netip.ParseAddr(address)
	if err != nil {
		return fmt.Errorf("%w: %w", ErrElement, err)
	}
	if p := netip.PrefixFrom(a, g.bits); p.Masked() != p {
		return fmt.Errorf("%w: %s in %s: the network of that address is %s", ErrElement, address, t.prefix()+e.Set, p.Masked().Addr())
	}
	if address != a.String() { // it would read back as another one, and be planned again and again
		return fmt.Errorf("%w: write %s as %s", ErrElement, address, a)
	}
	return nil
}

func (f *Firewall) checkAll(lists ...[]Element) error {
	for _, t := range f.tables() {
		for _, l := range lists {
			for _, e := range t.own(l) {
				if err := t.check(e); err != nil {
					return err
				}
			}
		}
	}
	return nil
}
