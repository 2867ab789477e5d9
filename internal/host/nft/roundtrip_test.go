package nft

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// address draws an IPv4 address whose bits beyond the prefix are zero.
func address(t *rapid.T, bits int) string {
	n := rapid.Uint32().Draw(t, "address")
	a := netip.AddrFrom4([4]byte{byte(n >> 24), byte(n >> 16), byte(n >> 8), byte(n)})
	return netip.PrefixFrom(a, bits).Masked().Addr().String()
}

func ifName(t *rapid.T) string {
	return rapid.StringMatching(`[a-z][a-z0-9_.-]{0,14}`).Draw(t, "interface")
}

func port(t *rapid.T) uint16 { return uint16(rapid.IntRange(1, 65535).Draw(t, "port")) }

// condition draws a Match, In or CTState of family ip. tcp is the protocol of all ports in a rule, since it has only one.
func condition(t *rapid.T) Expr {
	not := rapid.Bool().Draw(t, "not")
	addresses := []Field{IPSaddr, IPDaddr}
	switch rapid.IntRange(0, 7).Draw(t, "condition") {
	case 0:
		return Match{Field: rapid.SampledFrom([]Field{IIfName, OIfName}).Draw(t, "field"), Not: not, Value: ifName(t)}
	case 1:
		return Match{Field: rapid.SampledFrom(addresses).Draw(t, "field"), Not: not, Value: address(t, 32)}
	case 2:
		bits := rapid.IntRange(1, 31).Draw(t, "bits")
		return Match{Field: rapid.SampledFrom(addresses).Draw(t, "field"), Not: not, Value: fmt.Sprintf("%s/%d", address(t, bits), bits)}
	case 3:
		return Match{Field: rapid.SampledFrom([]Field{UDPDport, UDPSport}).Draw(t, "field"), Not: not, Value: fmt.Sprint(port(t))}
	case 4:
		key := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) Term {
			f := rapid.SampledFrom([]Field{IIfName, OIfName, IPSaddr, IPDaddr}).Draw(t, "term")
			if f == IIfName || f == OIfName {
				return Term{Field: f}
			}
			return Term{Field: f, Bits: rapid.IntRange(0, 32).Draw(t, "mask")}
		}), 1, 4).Draw(t, "key")
		return In{Key: key, Not: not, Set: "some_set"}
	case 5:
		return Local{}
	case 6:
		return DNATted{}
	}
	names := ctNames()
	state := names[rapid.IntRange(0, len(names)-1).Draw(t, "state")].bit
	return state | names[rapid.IntRange(0, len(names)-1).Draw(t, "state")].bit
}

func ending(t *rapid.T) []Expr {
	low := port(t)
	return rapid.SampledFrom([][]Expr{
		{Accept()},
		{Drop()},
		{Return()},
		{Jump("elsewhere")},
		{Verdict{Kind: "goto", Chain: "elsewhere"}},
		{Reject{}},
		{Reject{With: "icmp host-unreachable"}},
		{Counter{Packets: 1, Bytes: 2}, Accept()},
		{Masquerade{}},
		{Match{Field: UDPDport, Value: "1"}, Masquerade{Min: low}},
		{Match{Field: UDPDport, Value: "1"}, Masquerade{Min: min(low, 65534), Max: 65535}},
		{Count{Field: IIfName, Set: "some_set"}, Accept()},
		{Count{Field: IPSaddr, Set: "some_set"}},
		{NAT{Kind: "dnat", Key: []Term{{Field: IPDaddr}}, Map: "some_map", Data: "ipv4_addr"}},
		{NAT{Kind: "dnat", Key: []Term{{Field: IPDaddr}, {Field: L4Proto}, {Field: THDport}}, Map: "some_map", Data: "ipv4_addr . inet_service"}},
		{NAT{Kind: "snat", Key: []Term{{Field: IPSaddr, Bits: 24}}, Map: "some_map", Data: "interval ipv4_addr"}},
		{Match{Field: L4Proto, Value: "tcp"}, NAT{Kind: "snat", Key: []Term{{Field: IPSaddr, Bits: 24}}, Map: "some_map", Data: "interval ipv4_addr . inet_service"}},
	}).Draw(t, "ending")
}

// What was sent must read back as itself, or every plan would change it again; and so must its text.
func TestEveryRuleReadsBackAsItself(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		r := Rule{Family: IPv4, Table: "t", Chain: "c", Comment: rapid.StringMatching(`([a-z ]{0,20}[a-z])?`).Draw(t, "comment")}
		for range rapid.IntRange(0, 3).Draw(t, "conditions") {
			r.Exprs = append(r.Exprs, condition(t))
		}
		last := ending(t)
		if n, ok := last[len(last)-1].(NAT); ok && n.Kind == "dnat" { // it looks at the port of any protocol, so none may be named
			r.Exprs = slices.DeleteFunc(r.Exprs, func(x Expr) bool { m, ok := x.(Match); return ok && (m.Field == UDPDport || m.Field == UDPSport) })
		}
		r.Exprs = append(r.Exprs, last...)
		if err := r.validate(); err != nil {
			t.Fatalf("%s: %v", r.Text(), err)
		}
		msgs, err := (&encoder{}).messages(0, operation{verbAdd, r})
		if err != nil {
			t.Fatal(err)
		}
		back, err := parseRule(append([]byte{byte(IPv4), 0, 0, 0}, msgs[0].attrs...))
		if err != nil || !back.Equal(r) || !cmp.Equal(back.Exprs, r.Exprs) {
			t.Fatalf("sent %s\nread %s, error %v", r.Text(), back.Text(), err)
		}
		words, err := splitWords(r.Text())
		if err != nil {
			t.Fatal(err)
		}
		loaded := Rule{Family: IPv4, Table: "t", Chain: "c"}
		loaded.Exprs, loaded.Comment, err = parseExprs(words)
		for _, x := range r.Exprs {
			if n, ok := x.(NAT); ok {
				(&Listing{Sets: []Set{{Name: n.Map, Data: n.Data}}}).giveData(loaded)
			}
		}
		if err != nil || !loaded.Equal(r) {
			t.Fatalf("text   %s\nloaded %s, error %v", r.Text(), loaded.Text(), err)
		}
	})
}

func TestEveryKeyReadsBackAsItself(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		kinds := rapid.SliceOfN(rapid.SampledFrom(scalars()), 1, 3).Draw(t, "fields")
		var want string
		var kind keyType
		for i, k := range kinds {
			if i > 0 {
				want += " . "
			}
			kind = append(kind, k.kind)
			switch k.kind {
			case typeIfName:
				want += ifName(t)
			case typeIPv4:
				want += address(t, 32)
			case typeIPv6:
				want += fmt.Sprintf("2001:db8::%x", port(t))
			case typePort:
				want += fmt.Sprint(port(t))
			case typeEther:
				want += fmt.Sprintf("52:54:00:%02x:%02x:01", port(t)&0xff, port(t)&0xff)
			case typeEtherType:
				want += rapid.SampledFrom([]string{"ip", "arp", "0x8035"}).Draw(t, "frames")
			case typeL4:
				want += rapid.SampledFrom([]string{"tcp", "udp", "icmp", "47"}).Draw(t, "protocol")
			}
		}
		b, err := kind.encode(want)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := kind.decode(b); got != want || err != nil {
			t.Fatalf("%s of type %s reads back as %q, error %v", want, kind, got, err)
		}
		if back, err := typeFromKernel(kind.id()); err != nil || back.String() != kind.String() {
			t.Fatalf("type %s reads back as %s, error %v", kind, back, err)
		}
	})
}

// An element of a map reads back in the form that nft lists, and both of its forms mean the same.
func TestEveryMapElementReadsBackAsItself(t *testing.T) {
	t.Parallel()
	span := func(t *rapid.T) (string, string) {
		a, b := rapid.Uint32Range(0, 1<<32-1).Draw(t, "first"), rapid.Uint32Range(0, 1<<20).Draw(t, "more")
		if rapid.Bool().Draw(t, "prefix") {
			n := rapid.IntRange(0, 32).Draw(t, "bits")
			a &= ^uint32(0) << (32 - n)
			b = 1<<(32-n) - 1
		}
		last := a + min(b, ^a)
		text := func(n uint32) string {
			return netip.AddrFrom4([4]byte{byte(n >> 24), byte(n >> 16), byte(n >> 8), byte(n)}).String()
		}
		return text(a), text(last)
	}
	rapid.Check(t, func(t *rapid.T) {
		first, last := span(t)
		low := port(t)
		high := uint16(rapid.IntRange(int(low), 65535).Draw(t, "last port"))
		m := Set{Family: IPv4, Table: "t", Name: "m", Type: "ipv4_addr", Data: "interval ipv4_addr"}
		value := first + "-" + last
		if rapid.Bool().Draw(t, "ports") {
			m.Data += " . inet_service"
			value += fmt.Sprintf(" . %d-%d", low, high)
		}
		given := "192.0.2.0 : " + value
		canonical, err := m.Canonical(given)
		if err != nil {
			t.Fatal(err)
		}
		kind, err := m.elementType()
		if err != nil {
			t.Fatal(err)
		}
		_, want, err := kind.encode(given)
		for _, form := range []string{canonical, "192.0.2.0 : " + kind.data.input(strings.TrimPrefix(canonical, "192.0.2.0 : "))} {
			if _, got, err2 := kind.encode(form); err != nil || err2 != nil || string(got) != string(want) {
				t.Fatalf("%s as %s: %x, want %x (%v, %v)", given, form, got, want, err, err2)
			}
		}
		if again, err := m.Canonical(canonical); again != canonical || err != nil {
			t.Fatalf("%s becomes %s, error %v", canonical, again, err)
		}
	})
}
