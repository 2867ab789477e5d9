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

var lengthForm = regexp.MustCompile(`^(net|nat)([1-9][0-9]?)$`)

// prefixLength is the prefix length in the name of a set, 0 for the sets without one.
func prefixLength(set string) int {
	m := lengthForm.FindStringSubmatch(set)
	if m == nil {
		return 0
	}
	n, err := strconv.Atoi(m[2])
	if err != nil || n > 32 {
		return 0
	}
	return n
}

// setType is the type of a set by its name; empty for a name that is none of ours.
func setType(name string) string {
	switch {
	case name == bridges:
		return "ifname"
	case name == same:
		return "ifname . ifname"
	case prefixLength(name) == 0:
		return ""
	case strings.HasPrefix(name, "nat"):
		return "ipv4_addr"
	}
	return "ifname . ipv4_addr"
}

// check refuses what would be in a set and never match.
func (f *Firewall) check(e Element) error {
	kind := setType(e.Set)
	if kind == "" {
		return fmt.Errorf("%w: no set %q: use bridges, same, net1 to net32 or nat1 to nat32", ErrElement, e.Set)
	}
	x := &nft.Transaction{}
	if x.Add(nft.Elements{Set: f.set(e.Set), Keys: []string{e.Key}}); x.Err() != nil {
		return fmt.Errorf("%w: %w", ErrElement, x.Err())
	}
	n := prefixLength(e.Set)
	if n == 0 {
		return nil
	}
	address := e.Key[strings.LastIndex(e.Key, " ")+1:]
	a, err := netip.ParseAddr(address)
	if err != nil {
		return fmt.Errorf("%w: %w", ErrElement, err)
	}
	if p := netip.PrefixFrom(a, n); p.Masked() != p {
		return fmt.Errorf("%w: %s in %s: the network of that address is %s", ErrElement, address, e.Set, p.Masked().Addr())
	}
	return nil
}

func (f *Firewall) checkAll(lists ...[]Element) error {
	for _, l := range lists {
		for _, e := range l {
			if err := f.check(e); err != nil {
				return err
			}
		}
	}
	return nil
}
