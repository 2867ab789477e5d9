package why

import (
	"encoding/binary"
	"slices"
	"strconv"
	"strings"

	"taproom/internal/host/nft"
)

// FromNFT reads a table as nf_tables has it.
func FromNFT(l *nft.Listing) Table {
	t := Table{Tool: ToolNFT, Family: l.Table.Family.String(), Name: l.Table.Name}
	for _, c := range l.Chains {
		if hook := hookOf(c.Name); hook != "" && hook == c.Hook && (t.Family == "ip" || t.Family == "ip6") && slices.Contains(iptablesTables(), t.Name) {
			t.Tool = ToolNew
		}
		chain := Chain{Name: c.Name, Hook: c.Hook, Type: c.Type, Priority: int(c.Priority), Policy: c.Policy}
		for _, r := range l.RulesOf(c.Name) {
			chain.Rules = append(chain.Rules, fromRule(r))
		}
		t.Chains = append(t.Chains, chain)
	}
	return t
}

func iptablesTables() []string { return []string{"filter", "nat", "mangle", "raw", "security"} }

// WithTexts gives the rules of tables that iptables keeps in nf_tables the form that iptables-nft-save has for them, which
// is the one that people know and which is understood better. The two list rules in the same order; a table that changed
// in between keeps the form it has.
func WithTexts(tables, saved []Table) []Table {
	out := slices.Clone(tables)
	for i, t := range out {
		for _, s := range saved {
			if t.Tool == ToolNew && s.Family == t.Family && s.Name == t.Name {
				out[i] = withTexts(t, s)
			}
		}
	}
	return out
}

func withTexts(t, s Table) Table {
	t.Chains = slices.Clone(t.Chains)
	for i := range t.Chains {
		c := &t.Chains[i]
		from, ok := s.Chain(c.Name)
		if !ok || len(from.Rules) != len(c.Rules) {
			continue
		}
		rules := slices.Clone(from.Rules)
		for n := range rules {
			rules[n].Handle = c.Rules[n].Handle
		}
		c.Rules = rules
	}
	return t
}

func fromRule(r nft.Rule) Rule {
	out := Rule{Text: r.Text(), Handle: r.Handle}
	for _, x := range r.Exprs {
		switch v := x.(type) {
		case nft.Match:
			if proto, _, ok := strings.Cut(string(v.Field), " "); ok && (proto == "tcp" || proto == "udp") {
				out.Conds = append(out.Conds, Cond{Key: "proto", Value: proto})
			}
			out.Conds = append(out.Conds, Cond{Key: keyOfField(v.Field), Not: v.Not, Value: v.Value})
		case nft.CTState:
			out.Conds = append(out.Conds, Cond{Key: "state", Value: strings.TrimPrefix(v.String(), "ct state ")})
		case nft.Counter:
			out.Packets = v.Packets
		case nft.Verdict:
			out.Verdict, out.To = v.Kind, v.Chain
		case nft.Reject:
			out.Verdict = "drop"
		case nft.Masquerade:
			out.Verdict = "masquerade"
		case nft.NAT: // what its map knows
			out.Conds = append(out.Conds, Cond{Key: v.String()})
			if out.Verdict = "masquerade"; v.Kind == "dnat" {
				out.Verdict, out.Unsure = "", true
			}
		case nft.Opaque:
			out.opaque(v)
		default: // a lookup in a set
			out.Conds = append(out.Conds, Cond{Key: x.String()})
		}
	}
	return out
}

func keyOfField(f nft.Field) string {
	switch f {
	case nft.IIfName:
		return "in"
	case nft.OIfName:
		return "out"
	case nft.IPSaddr, nft.IP6Saddr:
		return "src"
	case nft.IPDaddr, nft.IP6Daddr:
		return "dst"
	case nft.L4Proto:
		return "proto"
	case nft.TCPSport, nft.UDPSport, nft.THSport:
		return "sport"
	case nft.TCPDport, nft.UDPDport, nft.THDport:
		return "dport"
	}
	return string(f)
}

// opaque reads what is outside the subset that package nft speaks.
func (r *Rule) opaque(o nft.Opaque) {
	if target, ok := strings.CutPrefix(o.Name, "xt target "); ok {
		r.target("-j", target)
		if r.Verdict == "jump" { // a target that is not known is no chain
			r.Verdict, r.To, r.Unsure = "", "", true
		}
		return
	}
	for field, key := range map[string]string{"iifname ": "in", "oifname ": "out"} {
		if name, ok := strings.CutPrefix(o.Name, field); ok {
			plain, not := strings.CutPrefix(name, "!= ")
			r.Conds = append(r.Conds, Cond{Key: key, Not: not, Value: plain})
			return
		}
	}
	switch o.Name {
	case "reject", "tproxy", "queue":
		r.Verdict = "drop"
		r.Unsure = o.Name != "reject"
	case "snat":
		r.Verdict = "masquerade"
	case "masquerade with flags":
		r.Verdict = "masquerade"
	case "log", "limit", "notrack", "xt match comment", "immediate", "objref", "ct", "meta":
		if o.Name == "limit" || o.Name == "ct" || o.Name == "meta" {
			r.Conds = append(r.Conds, Cond{Key: o.Name})
		}
	case "payload 2+0/4":
		if b := []byte(o.Info); len(b) == 4 {
			port := func(i int) string { return strconv.Itoa(int(binary.BigEndian.Uint16(b[i:]))) }
			r.Conds = append(r.Conds, Cond{Key: "sport", Value: port(0)}, Cond{Key: "dport", Value: port(2)})
			return
		}
		r.Conds = append(r.Conds, Cond{Key: o.Name})
	case "xt match conntrack":
		r.Conds = append(r.Conds, conntrack(o.Info))
	case "xt match addrtype":
		r.Conds = append(r.Conds, addrtype(o.Info))
	default:
		r.Conds = append(r.Conds, Cond{Key: o.Name})
	}
}

// Offsets in struct xt_conntrack_mtinfo3, of which revisions 1 to 3 have them at the same place.
const (
	conntrackFlags  = 8*16 + 8 + 2 + 4*2 // match_flags
	conntrackInvert = conntrackFlags + 2
	conntrackState  = conntrackInvert + 2
	conntrackByte   = 1 // XT_CONNTRACK_STATE
)

// conntrack reads what iptables' match of that name looks for, when that is the state and nothing else.
func conntrack(info string) Cond {
	unknown := Cond{Key: "xt match conntrack"}
	if len(info) < conntrackState+2 {
		return unknown
	}
	b := []byte(info)
	if binary.NativeEndian.Uint16(b[conntrackFlags:]) != conntrackByte {
		return unknown
	}
	state := nft.CTState(binary.NativeEndian.Uint16(b[conntrackState:]))
	return Cond{Key: "state", Not: binary.NativeEndian.Uint16(b[conntrackInvert:])&conntrackByte != 0, Value: strings.TrimPrefix(state.String(), "ct state ")}
}

// addrtype reads what iptables' match of that name looks for (struct xt_addrtype_info_v1), when that is one kind of
// destination.
func addrtype(info string) Cond {
	unknown := Cond{Key: "xt match addrtype"}
	if len(info) < 8 {
		return unknown
	}
	b := []byte(info)
	source, dest, flags := binary.NativeEndian.Uint16(b), binary.NativeEndian.Uint16(b[2:]), binary.NativeEndian.Uint32(b[4:])
	for bit, name := range map[uint16]string{1 << 2: "LOCAL", 1 << 3: "BROADCAST", 1 << 5: "MULTICAST"} {
		if source == 0 && dest == bit && flags&^2 == 0 {
			return Cond{Key: "--dst-type", Not: flags&2 != 0, Value: name} // XT_ADDRTYPE_INVERT_DEST
		}
	}
	return unknown
}
