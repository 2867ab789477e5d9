package nft

import (
	"bytes"
	"errors"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// parseAll does with a datagram all that a dump or an answer could do with it.
func parseAll(b []byte) (rules []Rule) {
	(&Watch{}).take(b)
	for m, err := range packets(b) {
		if err != nil {
			return rules
		}
		parseAnswer(m)
		_, _ = parseTable(m.body)
		_, _ = parseChain(m.body)
		_, _ = parseSet(m.body)
		_, _ = parseGeneration(m.body)
		for _, s := range []Set{
			{Type: "ifname"},
			{Type: "ifname . ipv4_addr"},
			{Type: "inet_proto . inet_service . ipv6_addr . ether_addr"},
			{Type: "ipv4_addr", Data: "ipv4_addr . inet_service"},
			{Type: "ipv4_addr", Data: "interval ipv4_addr . inet_service"},
			{Type: "ipv6_addr", Data: "interval ipv6_addr"},
		} {
			t, err := s.elementType()
			if err != nil {
				panic(err)
			}
			_, _ = parseElements(m.body, t)
			_ = parseCounts(m.body, t, map[string]Counter{})
		}
		if r, err := parseRule(m.body); err == nil {
			rules = append(rules, r)
		}
	}
	return rules
}

func seedBatch(t testing.TB) []byte {
	x := &Transaction{}
	table := Table{Family: IPv4, Name: "t", Comment: "c"}
	set := Set{Family: IPv4, Table: "t", Name: "s", Type: "ifname . ipv4_addr"}
	x.Add(table)
	x.Add(Chain{Family: IPv4, Table: "t", Name: "c", Type: "filter", Hook: "forward", Policy: "drop"})
	x.Add(set)
	x.Add(Elements{Set: set, Keys: []string{"virbr0 . 192.0.2.0"}})
	x.Add(Rule{Family: IPv4, Table: "t", Chain: "c", Comment: "r", Exprs: []Expr{
		Established,
		In{Key: []Term{{Field: IIfName}, {Field: IPSaddr, Bits: 24}}, Set: "s"},
		Match{Field: IPDaddr, Value: "192.0.2.0/24"},
		Match{Field: UDPDport, Value: "53"},
		Counter{1, 2},
		Reject{},
	}})
	x.Add(Rule{Family: IPv4, Table: "t", Chain: "c", Exprs: []Expr{Match{Field: L4Proto, Value: "tcp"}, Masquerade{1, 2}, Jump("d")}})
	spans := Set{Family: IPv4, Table: "t", Name: "m", Type: "ipv4_addr", Data: "interval ipv4_addr . inet_service"}
	x.Add(spans)
	seen := Set{Family: IPv4, Table: "t", Name: "seen", Type: "ifname", Dynamic: true}
	x.Add(seen)
	x.Add(Elements{Set: seen, Keys: []string{"virbr0"}})
	x.Add(Rule{Family: IPv4, Table: "t", Chain: "c", Exprs: []Expr{Count{Field: IIfName, Set: "seen"}, Accept()}})
	x.Add(Elements{Set: spans, Keys: []string{"192.0.2.0 : 198.51.100.1-198.51.100.9 . 1024-65535"}})
	x.Add(Rule{Family: IPv4, Table: "t", Chain: "c", Exprs: []Expr{
		Match{Field: L4Proto, Value: "tcp"}, NAT{Kind: "snat", Key: []Term{{Field: IPSaddr, Bits: 24}}, Map: "m", Data: spans.Data},
	}})
	b, err := encodeBatch(x, 1)
	if err != nil {
		t.Fatal(err)
	}
	return b.bytes
}

func FuzzParse(f *testing.F) {
	seed := seedBatch(f)
	f.Add(seed)
	f.Add(seed[:len(seed)/2])
	f.Fuzz(func(t *testing.T, b []byte) {
		for _, r := range parseAll(b) {
			if r.validate() != nil {
				continue
			}
			// What we could send must read back as itself.
			msgs, err := (&encoder{}).messages(0, operation{verbAdd, r})
			if err != nil {
				t.Fatalf("%s is valid and cannot be encoded: %v", r.Text(), err)
			}
			back, err := parseRule(append([]byte{byte(r.Family), 0, 0, 0}, msgs[0].attrs...))
			if err != nil {
				t.Fatalf("%s cannot be read back: %v", r.Text(), err)
			}
			again, err := parseRule(append([]byte{byte(r.Family), 0, 0, 0}, encodeRule(t, back)...))
			if err != nil || !back.Equal(again) {
				t.Fatalf("%q reads back as %q, error %v", back.Text(), again.Text(), err)
			}
		}
	})
}

func encodeRule(t *testing.T, r Rule) []byte {
	t.Helper()
	msgs, err := (&encoder{}).messages(0, operation{verbAdd, r})
	if err != nil {
		t.Fatalf("%s cannot be encoded again: %v", r.Text(), err)
	}
	return msgs[0].attrs
}

func FuzzLoad(f *testing.F) {
	f.Add("table ip t {\n\tmap m {\n\t\ttype ipv4_addr : interval ipv4_addr . inet_service\n\t\telements = { 192.0.2.0 : 198.51.100.1 . 80 }\n\t}\n\tchain c {\n\t\tmeta l4proto tcp snat ip to ip saddr map @m\n\t}\n}\n")
	f.Add("table ip t {\n\tset s {\n\t\ttype ifname . ipv4_addr\n\t\telements = { \"a\" . 192.0.2.0,\n\"b\" . 192.0.2.1 }\n\t}\n\tchain c {\n\t\ttype nat hook postrouting priority srcnat + 3; policy accept;\n\t\tip saddr & 255.255.255.0 != @s masquerade to :1-2 comment \"x\"\n\t}\n}\n")
	f.Fuzz(func(t *testing.T, s string) {
		l, err := Load(s)
		if err != nil {
			return
		}
		back, err := Load(l.String())
		if err != nil {
			t.Fatalf("the listing does not load: %v\n%s", err, l)
		}
		if back.String() != l.String() {
			t.Fatalf("got\n%s\nwant\n%s", back, l)
		}
	})
}

func TestATruncatedOrChangedDatagramIsNeverMoreThanAnError(t *testing.T) {
	t.Parallel()
	seed := seedBatch(t)
	if rules := parseAll(seed); len(rules) < 2 {
		t.Fatalf("the whole seed gives %d rules", len(rules))
	}
	for n := range seed {
		parseAll(seed[:n])
		for _, v := range []byte{0, 1, 3, 0x7f, 0xff} {
			changed := bytes.Clone(seed)
			changed[n] = v
			parseAll(changed)
		}
	}
}

func TestAnswersAreReadWithTheirWords(t *testing.T) {
	t.Parallel()
	body := make([]byte, 4+headerSize)
	copy(body, []byte{0xfe, 0xff, 0xff, 0xff}) // -ENOENT
	words := append([]byte{4 + 6, 0, unix.NLMSGERR_ATTR_MSG, 0}, "hello\x00"...)
	for _, c := range []struct {
		m    packet
		want answer
		ok   bool
	}{
		{packet{kind: unix.NLMSG_ERROR, body: body}, answer{errno: unix.ENOENT}, true},
		{packet{kind: unix.NLMSG_ERROR, flags: unix.NLM_F_CAPPED | unix.NLM_F_ACK_TLVS, body: append(bytes.Clone(body), words...)}, answer{unix.ENOENT, "hello"}, true},
		{packet{kind: unix.NLMSG_ERROR, flags: unix.NLM_F_CAPPED | unix.NLM_F_ACK_TLVS, body: append(bytes.Clone(body), 9)}, answer{errno: unix.ENOENT}, true},
		{packet{kind: unix.NLMSG_ERROR, body: body[:8]}, answer{}, false},
		{packet{kind: unix.NLMSG_DONE, body: body}, answer{}, false},
	} {
		if got, ok := parseAnswer(c.m); got != c.want || ok != c.ok {
			t.Errorf("parseAnswer(%+v) = %+v, %v; want %+v, %v", c.m, got, ok, c.want, c.ok)
		}
	}
}

func TestInvalidObjectsAreRefusedWithTheReason(t *testing.T) {
	t.Parallel()
	rule := func(e ...Expr) Rule { return Rule{Family: IPv4, Table: "t", Chain: "c", Exprs: e} }
	set := func(kind string) Set { return Set{Family: IPv4, Table: "t", Name: "s", Type: kind} }
	dataMap := func(data string) Set { return Set{Family: IPv4, Table: "t", Name: "m", Type: "ipv4_addr", Data: data} }
	from := []Term{{Field: IPSaddr}}
	for _, c := range []struct {
		o    Object
		want string
	}{
		{nil, "no object"},
		{Table{Family: 99, Name: "t"}, "unknown family 99"},
		{Table{Family: IPv4, Name: "two words"}, `name "two words": must begin with a letter`},
		{Table{Family: IPv4, Name: "t", Comment: `say "x"`}, "without quotes"},
		{Table{Family: IPv4, Name: "t", Comment: strings.Repeat("x", 128)}, "at most 127"},
		{Chain{Family: IPv4, Table: "t", Name: "c", Policy: "drop"}, "need a hook"},
		{Chain{Family: IPv4, Table: "t", Name: "c", Hook: "ingress", Type: "filter", Policy: "drop"}, `hook "ingress" does not exist in family ip`},
		{Chain{Family: IPv4, Table: "t", Name: "c", Hook: "input", Type: "x", Policy: "drop"}, `chain type "x"`},
		{Chain{Family: IPv4, Table: "t", Name: "c", Hook: "input", Type: "filter"}, `policy ""`},
		{set("verdict"), `"verdict" is outside the subset`},
		{set("ipv6_addr . ipv6_addr . ipv6_addr . ipv6_addr . ifname"), "does not fit"},
		{set("ifname . ifname . ifname . ifname . ifname . ifname"), "at most 5 fields"},
		{Set{Family: IPv4, Table: "t", Name: "s", Type: "ifname", Flags: 4}, "flags 0x4"},
		{Elements{Set: set("ifname")}, "no elements"},
		{Elements{Set: set("ifname"), Keys: []string{"sixteen-bytes-xx"}}, "1 to 15 bytes"},
		{Elements{Set: set("ifname"), Keys: []string{"eth*"}}, "without blanks"},
		{Elements{Set: set("ifname . ipv4_addr"), Keys: []string{"eth0"}}, "want 2 fields"},
		{Elements{Set: set("ipv4_addr"), Keys: []string{"::1"}}, "no ipv4_addr"},
		{Elements{Set: set("inet_service"), Keys: []string{"70000"}}, "no port number"},
		{Elements{Set: set("ether_addr"), Keys: []string{"1:2:3:4:5:6"}}, "no MAC address"},
		{Elements{Set: set("inet_proto"), Keys: []string{"sctp"}}, "no protocol"},
		{rule(), "without expressions"},
		{rule(nil), "nil expression"},
		{rule(Match{Field: "x y", Value: "1"}), `field "x y" is outside`},
		{rule(Match{Field: IPSaddr, Value: "192.0.2.1/24"}), "outside its prefix"},
		{rule(Match{Field: IP6Saddr, Value: "::1"}), "not to be had in family ip"},
		{rule(Match{Field: TCPDport, Value: "1"}, Match{Field: UDPDport, Value: "1"}), "after tcp"},
		{rule(Match{Field: NFProto, Value: "ipx"}), "no network protocol"},
		{rule(Match{Field: L4Proto, Value: "tcp"}, Match{Field: TCPDport, Value: "1"}), "it is implied"},
		{rule(In{Set: "s"}), "a key of 0 fields"},
		{rule(In{Key: []Term{{Field: IIfName, Bits: 0}}, Set: "no set"}), "must begin"},
		{rule(In{Key: []Term{{Field: IPSaddr, Bits: 33}}, Set: "s"}), "mask of 33 bits"},
		{rule(CTState(0)), "none of nft's"},
		{rule(Verdict{Kind: "queue"}), `verdict "queue"`},
		{rule(Verdict{Kind: "jump"}), "name a chain"},
		{rule(Reject{With: "a smile"}), "not to be had"},
		{rule(Masquerade{Min: 5, Max: 4}), "empty"},
		{rule(Masquerade{Max: 4}), "needs its first"},
		{rule(Masquerade{Min: 4}), "needs `meta l4proto`"},
		{rule(Opaque{Name: "log"}), "cannot be sent"},
		{dataMap("inet_service"), `data type "inet_service" is outside`},
		{dataMap("ipv4_addr . ipv4_addr"), "an address . inet_service"},
		{dataMap("interval ipv6_addr . inet_service"), "with IPv4 only"},
		{Elements{Set: dataMap("ipv4_addr"), Keys: []string{"192.0.2.1"}}, "KEY : VALUE"},
		{Elements{Set: dataMap("ipv4_addr"), Keys: []string{"192.0.2.1 : ::1"}}, "no ipv4_addr"},
		{Elements{Set: dataMap("interval ipv4_addr"), Keys: []string{"192.0.2.1 : 192.0.2.9-192.0.2.1"}}, "ends before it begins"},
		{Elements{Set: dataMap("interval ipv4_addr . inet_service"), Keys: []string{"192.0.2.1 : 192.0.2.9 . 5-4"}}, "ends before it begins"},
		{Elements{Set: dataMap("interval ipv4_addr . inet_service"), Keys: []string{"192.0.2.1 : 192.0.2.9"}}, "want 2 fields"},
		{rule(NAT{Kind: "dnat", Key: from, Map: "m"}), "outside the subset"},
		{rule(NAT{Kind: "both", Key: from, Map: "m", Data: "ipv4_addr"}), "use snat or dnat"},
		{rule(NAT{Kind: "snat", Map: "m", Data: "ipv4_addr"}), "a key of 0 fields"},
		{rule(NAT{Kind: "snat", Key: from, Map: "m", Data: "ipv6_addr"}), "not to be had in family ip"},
		{rule(NAT{Kind: "snat", Key: from, Map: "m", Data: "ipv4_addr . inet_service"}), "a port needs `meta l4proto`"},
		{rule(Match{Field: L4Proto, Value: "tcp"}, Match{Field: THDport, Value: "1"}), "name the port of that protocol"},
	} {
		x := &Transaction{}
		x.Add(c.o)
		if err := x.Err(); err == nil || !strings.Contains(err.Error(), c.want) || c.o != nil && !errors.Is(err, ErrInvalid) {
			t.Errorf("add %#v gave %v; want …%s…", c.o, err, c.want)
		}
	}
}

func TestVerbsThatMakeNoSenseAreRefused(t *testing.T) {
	t.Parallel()
	r := Rule{Family: IPv4, Table: "t", Chain: "c", Exprs: []Expr{Accept()}}
	for want, do := range map[string]func(*Transaction){
		"by its handle":       func(x *Transaction) { x.Delete(r) },
		"added, inserted and": func(x *Transaction) { x.Flush(r) },
		"flush the set": func(x *Transaction) {
			x.Flush(Elements{Set: Set{Family: IPv4, Table: "t", Name: "s", Type: "ifname"}, Keys: []string{"a"}})
		},
		"rules are added, inse": func(x *Transaction) { x.Create(r) },
	} {
		x := &Transaction{}
		if do(x); x.Err() == nil || !strings.Contains(x.Err().Error(), want) {
			t.Errorf("gave %v; want …%s…", x.Err(), want)
		}
	}
}

func TestALongCommandIsShortenedInErrors(t *testing.T) {
	t.Parallel()
	keys := make([]string, 1000)
	for i := range keys {
		keys[i] = "192.0.2.1"
	}
	x := &Transaction{}
	x.Add(Elements{Set: Set{Family: IPv4, Table: "t", Name: "s", Type: "ifname"}, Keys: keys[:1]})
	x.Add(Elements{Set: Set{Family: IPv4, Table: "t", Name: "s", Type: "ipv4_addr"}, Keys: append(keys, "x")})
	if err := x.Err(); err == nil || len(err.Error()) > 500 {
		t.Errorf("error of %d bytes: %v", len(err.Error()), err)
	}
}
