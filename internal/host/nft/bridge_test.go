package nft

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

func run(t *rapid.T, label string, n int) string {
	return string(rapid.SliceOfN(rapid.Byte(), n, n).Draw(t, label))
}

// bytesOf draws a comparison of bytes that is not outside the subset.
func bytesOf(t *rapid.T) Bytes {
	n := rapid.IntRange(1, 16).Draw(t, "size")
	m := Bytes{
		Base:   rapid.SampledFrom([]Base{LinkHeader, NetworkHeader, TransportHeader}).Draw(t, "base"),
		Offset: rapid.IntRange(0, 60).Draw(t, "offset"), Not: rapid.Bool().Draw(t, "not"), Value: run(t, "value", n),
	}
	switch rapid.IntRange(0, 2).Draw(t, "form") {
	case 0:
		mask, value := []byte(run(t, "mask", n)), []byte(m.Value)
		for i := range mask {
			value[i] &= mask[i]
		}
		m.Mask, m.Value = string(mask), string(value)
	case 1:
		last := run(t, "last", n)
		m.Value, m.Last = min(m.Value, last), max(m.Value, last)
	}
	if m.check() != nil {
		return Bytes{Base: LinkHeader, Value: "\x01"}
	}
	return m
}

func bridgeRule(t *rapid.T) []Expr {
	var out []Expr
	for range rapid.IntRange(0, 3).Draw(t, "bytes") {
		out = append(out, bytesOf(t))
	}
	switch rapid.IntRange(0, 11).Draw(t, "form") {
	case 0:
		out = append(out, Match{Field: EtherType, Not: rapid.Bool().Draw(t, "not"), Value: rapid.SampledFrom([]string{"ip", "arp", "ip6", "vlan", "0x8035"}).Draw(t, "type")})
	case 1:
		terms := map[string][]Field{"ip": {IPSaddr, IPDaddr}, "ip6": {IP6Saddr, IP6Daddr}, "arp": {ARPSaddrIP, ARPDaddrIP, ARPSaddrEther, ARPDaddrEther}}
		kind := rapid.SampledFrom([]string{"ip", "arp", "ip6"}).Draw(t, "type")
		key := []Term{{Field: rapid.SampledFrom([]Field{IIfName, OIfName}).Draw(t, "port")}, {Field: rapid.SampledFrom(terms[kind]).Draw(t, "address")}}
		out = append(out, Match{Field: EtherType, Value: kind}, In{Key: key, Set: "values", Not: rapid.Bool().Draw(t, "not")})
	case 2:
		out = append(out, In{Key: []Term{{Field: OIfName}, {Field: EtherSaddr}}, Set: "values", Not: rapid.Bool().Draw(t, "not")})
	case 3:
		out = append(out, VerdictMap{Key: []Term{{Field: IIfName}}, Map: "ports"})
	case 4:
		mask := rapid.Uint32Range(1, 1<<32-1).Draw(t, "mask")
		out = append(out, Marked{Mask: mask, Value: rapid.Uint32().Draw(t, "value") & mask, Not: rapid.Bool().Draw(t, "not")})
	case 5:
		set := rapid.Uint32Range(0, 1<<30).Draw(t, "set")
		out = append(out, Mark{Set: set, Keep: (rapid.Uint32Range(0, 1<<31).Draw(t, "keep") | 1<<31) &^ set})
	case 6:
		out = append(out, New|Established, rapid.SampledFrom([]CTDirection{Original, Reply}).Draw(t, "way"))
	case 7:
		out = append(out, Match{Field: EtherType, Value: "ip"}, OverLimit{Key: []Term{{Field: EtherSaddr}, {Field: IPSaddr}}, Set: "many", Count: rapid.Uint32().Draw(t, "count")})
	case 9:
		out = append(out, TCPOption{Kind: rapid.Byte().Draw(t, "kind"), Missing: rapid.Bool().Draw(t, "missing")})
	case 10:
		out = append(out, Match{Field: EtherType, Value: "ip6"}, LaterFragment{})
	case 11:
		at := rapid.IntRange(28, 60).Draw(t, "at")
		f := Raw(rapid.SampledFrom([]Base{LinkHeader, NetworkHeader, TransportHeader}).Draw(t, "base"), at, rapid.SampledFrom([]int{1, 2, 4, 6, 16}).Draw(t, "size"))
		out = append(out, In{Key: []Term{{Field: IIfName}, {Field: f}}, Set: "values", Not: rapid.Bool().Draw(t, "not")})
	case 8:
		out = append(out, Match{Field: L4Proto, Value: rapid.SampledFrom([]string{"tcp", "udp", "132"}).Draw(t, "protocol")})
	}
	return append(out, Counter{}, rapid.SampledFrom([]Expr{Accept(), Drop(), Return(), Jump("elsewhere"), Reject{}}).Draw(t, "ending"))
}

// What is sent of family bridge must read back as itself, and so must its text.
func TestEveryRuleOfABridgeReadsBackAsItself(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		r := Rule{Family: Bridge, Table: "t", Chain: "c", Exprs: bridgeRule(t)}
		if err := r.validate(); err != nil {
			t.Fatalf("%s: %v", r.Text(), err)
		}
		msgs, err := (&encoder{}).messages(0, operation{verbAdd, r})
		if err != nil {
			t.Fatal(err)
		}
		back, err := parseRule(append([]byte{byte(Bridge), 0, 0, 0}, msgs[0].attrs...))
		if err != nil || !back.Equal(r) || !cmp.Equal(back.Exprs, r.Exprs) {
			t.Fatalf("sent %s\nread %s, error %v", r.Text(), back.Text(), err)
		}
		words, err := splitWords(r.Text())
		if err != nil {
			t.Fatal(err)
		}
		loaded := Rule{Family: Bridge, Table: "t", Chain: "c"}
		if loaded.Exprs, loaded.Comment, err = parseExprs(words); err != nil || !loaded.Equal(r) {
			t.Fatalf("text   %s\nloaded %s, error %v", r.Text(), loaded.Text(), err)
		}
	})
}

// What reads back as something else, or matches nothing, is refused before it is sent.
func TestWhatABridgeCannotCompareIsRefused(t *testing.T) {
	t.Parallel()
	for i, c := range []struct {
		family Family
		expr   Expr
	}{
		{Bridge, Bytes{Base: "xx", Value: "\x01"}},
		{Bridge, Bytes{Base: LinkHeader, Offset: 12, Value: "\x08\x00"}},
		{Bridge, Bytes{Base: LinkHeader}},
		{Bridge, Bytes{Base: LinkHeader, Value: "12345678901234567"}},
		{Bridge, Bytes{Base: LinkHeader, Offset: -1, Value: "1"}},
		{Bridge, Bytes{Base: LinkHeader, Value: "\x01", Mask: "\x02"}},
		{Bridge, Bytes{Base: LinkHeader, Value: "\x01", Mask: "\x01\x01"}},
		{Bridge, Bytes{Base: LinkHeader, Value: "\x02", Last: "\x01"}},
		{Bridge, Bytes{Base: LinkHeader, Value: "\x01", Last: "\x02", Mask: "\xff"}},
		{IPv4, Bytes{Base: LinkHeader, Value: "\x01"}},
		{INet, Bytes{Base: NetworkHeader, Value: "\x01"}},
		{Bridge, Match{Field: IPSaddr, Value: "192.0.2.1"}},
		{Bridge, In{Key: []Term{{Field: IPSaddr}}, Set: "s"}},
		{Bridge, In{Key: []Term{{Field: IIfName}, {Field: Raw(NetworkHeader, 8, 5)}}, Set: "s"}},
		{Bridge, In{Key: []Term{{Field: IIfName}, {Field: Raw(LinkHeader, 6, 6)}}, Set: "s"}},
		{Bridge, In{Key: []Term{{Field: Raw(NetworkHeader, 8, 6)}}, Set: "s"}},
		{INet, In{Key: []Term{{Field: IIfName}, {Field: Raw(NetworkHeader, 8, 6)}}, Set: "s"}},
		{IPv4, In{Key: []Term{{Field: EtherSaddr}}, Set: "s"}},
		{Bridge, Marked{Value: 1}},
		{Bridge, Mark{Keep: 1, Set: 1}},
		{Bridge, Mark{Set: 1}},
		{Bridge, CTDirection("back")},
		{Bridge, Match{Field: EtherType, Value: "ipx"}},
	} {
		r := Rule{Family: c.family, Table: "t", Chain: "c", Exprs: []Expr{c.expr}}
		if err := r.validate(); err == nil {
			t.Errorf("case %d, %s in family %s: not refused", i, c.expr, c.family)
		}
	}
}

// The elements of a verdict map read back as they were written.
func TestAVerdictMapIsWrittenAsNftDoes(t *testing.T) {
	t.Parallel()
	text := "table bridge t {\n\tmap ports {\n\t\ttype ifname : verdict\n\t\telements = { \"vnet0\" : goto first, \"vnet1\" : drop }\n\t}\n\n\tchain first {\n\t}\n}\n"
	l, err := Load(text)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(text, l.String()); d != "" {
		t.Errorf("it reads back differently (-want +got):\n%s", d)
	}
	ports, _ := l.Set("ports")
	for _, wrong := range []string{"vnet0", "vnet0 : goto", "vnet0 : accept first", "vnet0 : leave"} {
		if err := (Elements{Set: ports, Keys: []string{wrong}}).validate(); err == nil {
			t.Errorf("element %q is not refused", wrong)
		}
	}
}
