package nwfilter

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"taproom/internal/spec"
)

// failer is what helpers need of a test, of a fuzz target, and of a property.
type failer interface {
	Helper()
	Fatal(args ...any)
	Fatalf(format string, args ...any)
}

// parse reads filters that follow one another in a text.
func parse(tb failer, docs ...string) Set {
	tb.Helper()
	set := Set{}
	for _, doc := range docs {
		f, err := spec.ParseFilter([]byte(doc))
		if err != nil {
			tb.Fatalf("%v\n%s", err, doc)
		}
		set[f.Name] = f
	}
	return set
}

// rules makes a filter t of rules.
func rules(tb failer, inner string) Set {
	tb.Helper()
	return parse(tb, "<filter name='t'>"+inner+"</filter>")
}

func compiled(tb failer, set Set, root string, p Params) (*Program, Values) {
	tb.Helper()
	prog, values, err := Compile(set, root, p)
	if err != nil {
		tb.Fatalf("compile %s: %v", root, err)
	}
	return prog, values
}

func params() Params {
	return Params{"MAC": {"52:54:00:00:00:01"}, "IP": {"10.0.0.1"}, "PORTS": {"80", "443"}, "NETS": {"10.0.0.0", "10.1.0.0"}, "BITS": {"16"}}
}

func TestRulesCompileToTheirConditions(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, rules, want string }{
		{"an address of the NIC stays open", "<rule action='drop' direction='out'><mac match='no' srcmacaddr='$MAC'/></rule>", `
filter t
chain root
  "t"#1 500 drop out mac ether src != $MAC/mac
packets
slot MAC/mac 6
`}, {"both directions: as written to the guest", "<rule action='accept' direction='inout' priority='-5'><arp opcode='Request' srcmacaddr='$MAC' arpdstipaddr='10.0.0.9' arpdstipmask='24'/></rule>", `
filter t
chain root
  "t"#1 -5 accept out mirrored arp ether dst $MAC/mac arp opcode 1 arp src ip 10.0.0.0/255.255.255.0
  "t"#1 -5 accept in arp ether src $MAC/mac arp opcode 1 arp dst ip 10.0.0.0/255.255.255.0
packets
slot MAC/mac 6
`}, {"a list in one condition is a set", "<rule action='accept' direction='in'><ip protocol='tcp' dstportstart='$PORTS'/></rule>", `
filter t
chain root
  "t"#1 500 accept in ip ip protocol 6 dst port $PORTS/u16
packets
slot PORTS/u16 2
`}, {"a negated list is a rule for each", "<rule action='drop' direction='in'><ip protocol='tcp'/><ip match='no' dstportstart='$PORTS'/></rule>", `
filter t
chain root
  "t"#1 500 drop in ip ip protocol 6 dst port != 80
  "t"#1 500 drop in ip ip protocol 6 dst port != 443
packets
`}, {"lists of one iterator go along", "<rule action='accept' direction='in' statematch='0'><tcp srcipaddr='$NETS' srcipmask='$BITS' dstportstart='$PORTS'/></rule>", `
filter t
chain root
packets
  "t"#1 500 accept out mirrored tcp ip dst 10.0.0.0/255.255.0.0 src port 80
  "t"#1 500 accept in tcp ip src 10.0.0.0/255.255.0.0 dst port 80
  "t"#1 500 accept out mirrored tcp ip dst 10.1.0.0/255.255.0.0 src port 443
  "t"#1 500 accept in tcp ip src 10.1.0.0/255.255.0.0 dst port 443
`}, {"lists of two iterators are combined", "<rule action='accept' direction='in' statematch='0'><tcp srcipaddr='$NETS[@1]' dstportstart='$PORTS[@2]' dscp='3'/></rule>", `
filter t
chain root
packets
  "t"#1 500 accept out mirrored tcp ip dst $NETS/ipv4 dscp 3 src port $PORTS/u16
  "t"#1 500 accept in tcp ip src $NETS/ipv4 dscp 3 dst port $PORTS/u16
slot NETS/ipv4 4
slot PORTS/u16 2
`}, {"one element", "<rule action='reject' direction='out' statematch='false'><udp srcportstart='1' srcportend='$PORTS[1]'/></rule>", `
filter t
chain root
packets
  "t"#1 500 reject out udp src port 1-443
  "t"#1 500 reject in mirrored udp dst port 1-443
`}, {"an accepted connection is answered", "<rule action='accept' direction='out'><tcp-ipv6 srcmacaddr='$MAC' dstipaddr='fe80::1' flags='SYN,ACK/SYN'/></rule>", `
filter t
chain root
packets
  "t"#1 500 accept out tcp-ipv6 ether src $MAC/mac ipv6 dst fe80::1 tcp flags 2/18 state NEW,ESTABLISHED ctdir original
  "t"#1 500 accept in mirrored tcp-ipv6 ipv6 src fe80::1 tcp flags 2/18 state ESTABLISHED ctdir reply
slot MAC/mac 6
`}, {"a type of ICMP is not answered", "<rule action='accept' direction='out'><icmp type='8' code='0'/></rule><rule action='drop' direction='inout'><all/></rule>", `
filter t
chain root
packets
  "t"#1 500 accept out icmp icmp type 8 icmp code 0 state NEW,ESTABLISHED
  "t"#2 500 drop out mirrored all
  "t"#2 500 drop in all
`}, {"states are for the direction they are written for", "<rule action='accept' direction='in'><tcp dstportstart='20' state='RELATED,ESTABLISHED'/></rule><rule action='drop' direction='out'><udp state='NONE'/></rule>", `
filter t
chain root
packets
  "t"#1 500 accept in tcp dst port 20 state ESTABLISHED,RELATED
  "t"#2 500 drop out udp
`}, {"limits are for the direction of the connection", "<rule action='drop' direction='in'><tcp connlimit-above='1' dstportstart='22'/></rule>", `
filter t
chain root
packets
  "t"#1 500 drop in tcp dst port 22 connlimit-above 1
`}, {"sets are turned round", "<rule action='accept' direction='in' statematch='no'><all ipset='good' ipsetflags='src,dst'/></rule>", `
filter t
chain root
packets
  "t"#1 500 accept out mirrored all ipset good dst,src
  "t"#1 500 accept in all ipset good src,dst
`}, {"a sender's MAC address has no answers", "<rule action='accept' direction='in'><all srcmacaddr='52:54:00:00:00:02'/></rule>", `
filter t
chain root
packets
  "t"#1 500 accept in all ether src 52:54:00:00:00:02 state NEW,ESTABLISHED ctdir original
`},
	} {
		p, _ := compiled(t, rules(t, c.rules), "t", params())
		if diff := cmp.Diff(strings.TrimPrefix(c.want, "\n"), p.String()); diff != "" {
			t.Errorf("%s (-want +got):\n%s", c.name, diff)
		}
	}
}

func TestChainsStandBetweenTheRulesOfRootByPriority(t *testing.T) {
	t.Parallel()
	set := parse(t,
		"<filter name='top'><filterref filter='a'/><rule action='drop' direction='out' priority='-650'><mac/></rule>"+
			"<rule action='accept' direction='in' priority='-1000'/><filterref filter='v6'><parameter name='P' value='1'/></filterref></filter>",
		"<filter name='a' chain='arp-x' priority='-650'><rule action='return' direction='in'><arp/></rule></filter>",
		"<filter name='v6' chain='ipv6'><rule action='drop' direction='inout' priority='7'/><rule action='accept' direction='out' priority='6'><ipv6 protocol='tcp' srcportstart='$P'/></rule></filter>",
	)
	p, _ := compiled(t, set, "top", Params{})
	want := `filter top
chain root
  "top"#2 -1000 accept in
  "top"#0 -650 jump arp-x in arp
  "top"#1 -650 drop out mac
  "top"#0 -600 jump ipv6 out ipv6
  "top"#0 -600 jump ipv6 in ipv6
chain arp-x
  "a"#1 500 return in arp
chain ipv6
  "v6"#2 6 accept out ipv6 ip protocol 6 src port 1
  "v6"#1 7 drop out mirrored
  "v6"#1 7 drop in
packets
`
	if diff := cmp.Diff(want, p.String()); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

func TestNICsThatDifferInValuesAloneShareAProgram(t *testing.T) {
	t.Parallel()
	set := rules(t, "<rule action='return' direction='out'><ip srcipaddr='$IP'/></rule><rule action='drop' direction='out'><ip/></rule>")
	a, va := compiled(t, set, "t", Params{"IP": {"10.0.0.1"}})
	b, vb := compiled(t, set, "t", Params{"IP": {"10.0.0.3", "10.0.0.2", "10.0.0.3"}, "MAC": {"52:54:00:00:00:01"}})
	if a.Key != b.Key {
		t.Errorf("programs differ:\n%s\n%s", a, b)
	}
	if diff := cmp.Diff(Values{"IP/ipv4": {{10, 0, 0, 2}, {10, 0, 0, 3}}}, vb); diff != "" {
		t.Error(diff)
	}
	if va.Hash() == vb.Hash() || va.Hash() == (Values{}).Hash() {
		t.Errorf("hashes: %s, %s", va.Hash(), vb.Hash())
	}
}

func TestParametersOfTheNICWinOverThoseBetweenFilters(t *testing.T) {
	t.Parallel()
	set := parse(t,
		"<filter name='t'><filterref filter='u'><parameter name='P' value='1'/><parameter name='Q' value='2'/></filterref></filter>",
		"<filter name='u'><rule action='drop' direction='in' statematch='0'><udp srcportstart='$P' dstportstart='$Q'/></rule></filter>")
	p, v := compiled(t, set, "t", Params{"P": {"9"}})
	if got, want := p.Packet[1].String(), "drop in udp src port $P/u16 dst port 2"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if diff := cmp.Diff(Values{"P/u16": {{0, 9}}}, v); diff != "" {
		t.Error(diff)
	}
}

func TestWhatIsWrongIsNamedWithItsPath(t *testing.T) {
	t.Parallel()
	rule := func(protocol string) string { return "<rule action='drop' direction='in'>" + protocol + "</rule>" }
	for _, c := range []struct{ rules, want string }{
		{"<filterref filter='none'/>", "filter none is not defined, and t → none refers to it; define it, or take the reference out"},
		{"<filterref filter='t'/>", "filter t refers to itself: t → t; take one of the references out"},
		{rule("<ip srcipaddr='$IP'/>"), "variable IP has no value (filter t, rule 1, ip/@srcipaddr); add <parameter name='IP' value='…'/> to the <filterref> of the interface"},
		{rule("<ip srcipaddr='$LIST[2]'/>"), "filter t, rule 1, ip/@srcipaddr: $LIST[2]: LIST has 2 values, counted from 0"},
		{rule("<ip srcipaddr='$LIST'/>"), "filter t, rule 1, ip/@srcipaddr: $LIST: \"1\" is not an IP address"},
		{rule("<ip srcipaddr='$'/>"), "filter t, rule 1, ip/@srcipaddr: \"$\" does not begin with the name of a variable (letters, digits and '_')"},
		{rule("<ip srcipaddr='$A[@x]'/>"), "filter t, rule 1, ip/@srcipaddr: \"$A[@x]\" is neither $A, $A[@ITERATOR] nor $A[ELEMENT] with a number of at most 1000"},
		{rule("<tcp srcportstart='$LIST' dstportstart='$THREE'/>"), "filter t, rule 1, tcp/@dstportstart: $THREE: it has 3 values and $LIST, which goes along with it, 2; give both as many, or use another iterator, as in $THREE[@1]"},
		{rule("<tcp dstportstart='9' dstportend='8'/>"), "filter t, rule 1, tcp/@dstportstart: the range is the wrong way round: 9 is above 8, which dstportend says"},
		{rule("<tcp srcipfrom='10.0.0.2' srcipto='10.0.0.1'/>"), "filter t, rule 1, tcp/@srcipfrom: the range is the wrong way round: 10.0.0.2 is above 10.0.0.1, which srcipto says"},
		{rule("<tcp dstportend='8'/>"), "filter t, rule 1, tcp/@dstportend: it needs the attribute before it: dstportstart"},
		{rule("<tcp srcipto='10.0.0.1'/>"), "filter t, rule 1, tcp/@srcipto: it needs the attribute before it: srcipfrom"},
		{rule("<mac srcmacmask='ff:00:00:00:00:00'/>"), "filter t, rule 1, mac/@srcmacmask: it needs the attribute before it: srcmacaddr"},
		{rule("<mac srcmacaddr='52:54:00:00:00:01' srcmacmask='ff:00:ff:00:00:00'/>"), "filter t, rule 1, mac/@srcmacmask: mask ff:00:ff:00:00:00 has ones after zeros"},
		{rule("<ip srcipaddr='10.0.0.1' srcipmask='255.0.255.0'/>"), "filter t, rule 1, ip/@srcipmask: mask 255.0.255.0 has ones after zeros"},
		{rule("<ip srcipaddr='10.0.0.1' srcipmask='33'/>"), "filter t, rule 1, ip/@srcipmask: a prefix has at most 32 bits, not 33"},
		{rule("<ip srcipaddr='fe80::1'/>"), "filter t, rule 1, ip/@srcipaddr: fe80::1 is not an IPv4 address"},
		{rule("<ip srcipaddr='10.0.0.1'/><ip match='no' srcipaddr='10.0.0.2'/>"), "filter t, rule 1, ip/@srcipaddr: it is said twice in one rule (srcipaddr='10.0.0.1')"},
		{rule("<ip dstportstart='1'/>"), "filter t, rule 1, ip/@dstportstart: it needs protocol with one of tcp, udp, udplite, sctp or 33 (DCCP), not negated and not a variable"},
		{rule("<ip protocol='icmp' dstportstart='1'/>"), "filter t, rule 1, ip/@dstportstart: protocol icmp has none; it needs tcp, udp, udplite, sctp or 33 (DCCP)"},
		{rule("<ipv6 protocol='tcp' type='1'/>"), "filter t, rule 1, ipv6/@type: protocol tcp has none; it needs icmpv6"},
		{rule("<icmp code='1'/>"), "filter t, rule 1, icmp/@code: it needs type"},
		{rule("<icmp type='256'/>"), "filter t, rule 1, icmp/@type: 256 is outside of 0 to 255"},
		{rule("<mac protocolid='0x5ff'/>"), "filter t, rule 1, mac/@protocolid: 0x5ff is outside of 1536 to 65535"},
		{rule("<mac protocolid='ipx'/>"), "filter t, rule 1, mac/@protocolid: \"ipx\" is neither a number nor a name that is known here"},
		{rule("<arp opcode='99999999999999999999'/>"), "filter t, rule 1, arp/@opcode: 99999999999999999999 is outside of 0 to 65535"},
		{rule("<tcp flags='SYN'/>"), "filter t, rule 1, tcp/@flags: \"SYN\" is not of the form MASK/FLAGS, as in SYN,ACK/SYN"},
		{rule("<tcp flags='SYN/ACK'/>"), "filter t, rule 1, tcp/@flags: SYN/ACK asks for flags that its mask leaves out, so it can never be met"},
		{rule("<tcp state='OLD'/>"), "filter t, rule 1, tcp/@state: \"OLD\" is not a state (NEW, ESTABLISHED, RELATED, INVALID or NONE)"},
		{rule("<tcp ipset='a'/>"), "filter t, rule 1, tcp/@ipset: it needs ipsetflags, such as src,src"},
		{rule("<tcp ipsetflags='src'/>"), "filter t, rule 1, tcp/@ipsetflags: it needs ipset"},
		{rule("<tcp ipset='a b' ipsetflags='src'/>"), "filter t, rule 1, tcp/@ipset: \"a b\" cannot be the name of an ipset (1 to 31 letters, digits, '_', '-', '.', ':' and '+')"},
		{rule("<gre/>"), "filter t, rule 1, <gre>: protocol \"gre\" is not known"},
		{rule("<tcp srcmacmask='ff:00:00:00:00:00'/>"), "filter t, rule 1, tcp/@srcmacmask: tcp has no such attribute"},
		{rule("<tcp match='maybe'/>"), "filter t, rule 1, tcp/@match: it is \"maybe\"; use no or yes"},
		{rule("<tcp/><udp/>"), "filter t: invalid rule/udp: a rule is about one protocol, and this one has tcp as well (rule 1)"},
		{"<rule action='allow' direction='in'/>", "filter t: invalid rule/@action: it is \"allow\"; use accept, drop, reject, return or continue (rule 1)"},
		{"<rule action='drop' direction='in' priority='1001'/>", "filter t: invalid rule/@priority: 1001 is outside of -1000 to 1000 (rule 1)"},
		{"<rule action='drop' direction='inout'><stp srcmacaddr='52:54:00:00:00:01'/></rule>", "filter t, rule 1, stp/@srcmacaddr: BPDUs go to one address, so the rule cannot be turned round for direction inout; write one for in and one for out"},
	} {
		_, _, err := Compile(rules(t, c.rules), "t", Params{"LIST": {"1", "2"}, "THREE": {"1", "2", "3"}})
		if err == nil || err.Error() != c.want {
			t.Errorf("%s:\n got %v\nwant %s", c.rules, err, c.want)
		}
	}
}

func TestReferencesAreRefusedWithTheirPath(t *testing.T) {
	t.Parallel()
	set := parse(t, "<filter name='a'><filterref filter='b'/></filter>", "<filter name='b'><filterref filter='c'/></filter>",
		"<filter name='c'><filterref filter='b'/></filter>", "<filter name='d'><filterref filter='b'/><filterref filter='gone'/></filter>")
	var loop *LoopError
	_, _, err := Compile(set, "a", nil)
	if !errors.As(err, &loop) || !cmp.Equal(loop.Path, []string{"a", "b", "c", "b"}) {
		t.Errorf("loop: %v", err)
	}
	if again := CheckReferences(set, "a"); again == nil || again.Error() != err.Error() {
		t.Errorf("CheckReferences: %v", again)
	}
	set["c"] = parse(t, "<filter name='c'/>")["c"]
	var missing *MissingError
	if _, _, err := Compile(set, "d", nil); !errors.As(err, &missing) || !cmp.Equal(missing.Path, []string{"d", "gone"}) {
		t.Errorf("missing: %v", err)
	}
	if got, want := Users(set, "c"), []string{"a", "b", "d"}; !cmp.Equal(got, want) {
		t.Errorf("users of c: %v, want %v", got, want)
	}
}

func TestAFilterMayHaveTenThousandRulesAndNotMillions(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	for i := range 10_000 {
		fmt.Fprintf(&b, "<rule action='accept' direction='in'><tcp dstportstart='%d'/></rule>", i)
	}
	if p, _ := compiled(t, rules(t, b.String()), "t", nil); len(p.Packet) != 20_000 {
		t.Errorf("%d rules", len(p.Packet))
	}
	long := make([]string, 1000)
	for i := range long {
		long[i] = fmt.Sprint(i)
	}
	_, _, err := Compile(rules(t, "<rule action='accept' direction='in'><tcp match='no' srcportstart='$A[@1]' dstportstart='$B[@2]'/></rule>"), "t", Params{"A": long, "B": long})
	var size *SizeError
	if !errors.As(err, &size) {
		t.Errorf("a million combinations: %v", err)
	}
	// A filter that refers twice to one that refers twice to the next, thirty deep: a thousand million references.
	set := Set{}
	for i := range 30 {
		f := &spec.Filter{Name: fmt.Sprint("f", i)}
		if i > 0 {
			ref := spec.FilterEntry{Ref: &spec.FilterRef{Filter: fmt.Sprint("f", i-1)}}
			f.Entries = []spec.FilterEntry{ref, ref}
		}
		set[f.Name] = f
	}
	if _, _, err := Compile(set, "f29", nil); !errors.As(err, &size) {
		t.Errorf("references beyond measure: %v", err)
	}
}
