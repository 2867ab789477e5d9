package firewall

import (
	"errors"
	"fmt"
	"net/netip"
	"regexp"
	"strconv"
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

var lengthForm = regexp.MustCompile(`^(net|nat|in)([1-9][0-9]{0,2})$`)

// prefixLength is the prefix length in the name of a set, 0 for the sets without one.
func (t table) prefixLength(set string) int {
	m := lengthForm.FindStringSubmatch(set)
	if m == nil || m[1] == "in" && !t.v6() {
		return 0
	}
	n, err := strconv.Atoi(m[2])
	if err != nil || n > t.longest() {
		return 0
	}
	return n
}

// setType is the type of a set by its name; empty for a name that is none of ours.
func (t table) setType(name string) string {
	address := "ipv4_addr"
	if t.v6() {
		address = "ipv6_addr"
	}
	switch {
	case name == bridges:
		return "ifname"
	case name == same:
		return "ifname . ifname"
	case t.prefixLength(name) == 0:
		return ""
	case strings.HasPrefix(name, "nat"):
		return address
	}
	return "ifname . " + address
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
		return fmt.Errorf("%w: no set %q: use bridges, same, net1 to net32 or nat1 to nat32; for IPv6 ip6/bridges, ip6/same, ip6/net1 to ip6/net128, or the same with nat and in", ErrElement, t.prefix()+e.Set)
	}
	x := &nft.Transaction{}
	if x.Add(nft.Elements{Set: t.set(e.Set), Keys: []string{e.Key}}); x.Err() != nil {
		return fmt.Errorf("%w: %w", ErrElement, x.Err())
	}
	n := t.prefixLength(e.Set)
	if n == 0 {
		return nil
	}
	address := e.Key[strings.LastIndex(e.Key, " ")+1:]
	a, err := netip.ParseAddr(address)
	if err != nil {
		return fmt.Errorf("%w: %w", ErrElement, err)
	}
	if p := netip.PrefixFrom(a, n); p.Masked() != p {
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
