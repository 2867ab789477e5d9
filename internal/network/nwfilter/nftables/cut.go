package nftables

import (
	"fmt"

	"taproom/internal/host/nft"
	"taproom/internal/network/nwfilter"
)

// cuts writes what drops the packets whose transport's header is cut short for a rule that drops: for each part of the header that the
// rule looks at, a jump to a chain which returns where that part is there. The conditions on the parts before it hold as
// well.
func (r *renderer) cuts(chain string, rule *nwfilter.Rule) error {
	if !rule.Drops() {
		return nil
	}
	for _, h := range rule.Headers() {
		rest := *rule
		// Linux 6.1 counts a connection twice that is counted again in the same jiffy, so packets with cut headers are dropped at any count.
		rest.Matches, rest.ConnLimit = nil, nil
		for _, m := range rule.Matches {
			if m.Field.Header() < h {
				rest.Matches = append(rest.Matches, m)
			}
		}
		conditions, err := r.conditions(&rest)
		if err != nil {
			return err
		}
		for _, x := range conditions {
			x = append(append([]nft.Expr(nil), x...), nft.Jump(r.cutChain(rule, h)))
			key := chain + " " + nft.Rule{Exprs: x}.Text()
			if !r.jumped[key] { // rules that differ in their ports need one jump
				r.jumped[key] = true
				r.add(chain, "", x...)
			}
		}
	}
	return nil
}

// cutChain returns the chain that drops packets whose header is cut short, and makes it where there is none yet. Its rules have no
// counter that a rule of a filter would be told by.
func (r *renderer) cutChain(rule *nwfilter.Rule, h nwfilter.Header) string {
	suffix, fragment := fmt.Sprintf("cut4-%d", h), one(nft.Bytes{Base: nft.NetworkHeader, Offset: 6, Mask: "\x1f\xff", Value: "\x00\x00", Not: true})
	if rule.Protocol.IPv6() {
		suffix, fragment = fmt.Sprintf("cut6-%d", h), one(nft.LaterFragment{})
	}
	name := r.name(rule.Direction, suffix)
	if _, ok := r.out.rules[name]; ok {
		return name
	}
	r.chain(name)
	whole := reaches(4)
	switch h {
	case nwfilter.TCPHeader:
		whole = reaches(20)
	case nwfilter.TCPOptions:
		whole = wholeTCP()
	}
	t, _ := rule.Protocol.EtherType()
	for _, x := range append(whole, one(etherType(t)).and(fragment)...) {
		r.add(name, "", append(append([]nft.Expr(nil), x...), nft.Return())...)
	}
	r.add(name, "", nft.Counter{}, nft.Drop())
	return name
}
