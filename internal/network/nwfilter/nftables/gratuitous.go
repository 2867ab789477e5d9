package nftables

import (
	"slices"

	"taproom/internal/host/nft"
	"taproom/internal/network/nwfilter"
)

// asksGratuitous reports whether a rule compares the two IP addresses of an ARP frame with each other.
func asksGratuitous(rule *nwfilter.Rule) bool {
	return slices.ContainsFunc(rule.Matches, func(m nwfilter.Match) bool { return m.Field == nwfilter.ARPGratuitous })
}

// gratuitous matches the mark that the chain of compareAddresses leaves.
func gratuitous(m *nwfilter.Match) (exprs, error) {
	if m.High != nil || m.Mask != nil || len(m.Value) != 1 {
		return nil, errOther
	}
	marked := nft.Marked{Mask: markEqual}
	if (m.Value[0] != 0) != m.Not {
		marked.Value = markEqual
	}
	return one(marked), nil
}

// compareAddresses adds a jump to the chain that marks ARP frames whose source and target IP address are equal. nf_tables compares a field
// with values only (with another field since Linux 6.13, which nft 1.0.6 cannot list), so the chain compares bit by bit: 64 rules.
func (r *renderer) compareAddresses(chain string, rule *nwfilter.Rule) {
	const source, target = 14, 24 // RFC 826, for Ethernet and IPv4
	name := r.name(rule.Direction, "equal")
	if _, ok := r.out.rules[name]; !ok {
		r.chain(name)
		r.add(name, "", clearEqual())
		for bit := range 32 {
			mask := make([]byte, 4)
			mask[bit/8] = 0x80 >> (bit % 8)
			is := func(offset int, set bool) nft.Expr {
				x := nft.Bytes{Base: nft.NetworkHeader, Offset: offset, Mask: string(mask), Value: string(make([]byte, 4))}
				if set {
					x.Value = x.Mask
				}
				return x
			}
			r.add(name, "", is(source, true), is(target, false), nft.Return())
			r.add(name, "", is(source, false), is(target, true), nft.Return())
		}
		r.add(name, "", nft.Mark{Keep: all &^ markEqual, Set: markEqual})
	}
	for _, x := range r.ofProtocol(rule).and(needs(nwfilter.ARPGratuitous, rule)) {
		r.add(chain, "", append(x, nft.Jump(name))...)
	}
}

// clearEqual takes the mark off.
func clearEqual() nft.Mark { return nft.Mark{Keep: all &^ markEqual} }
