package filtertest

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"testing"

	"taproom/internal/network/nwfilter"
)

// verdict is a case of more than one rule: the documents of filters, and frames with what becomes of them.
type verdict struct {
	name   string
	docs   []string
	params nwfilter.Params
	pass   []frame // from the guest
	drop   []frame
	// passIn and dropIn go to the guest.
	passIn, dropIn []frame
}

// rules is a document of a filter; the rules are its inside.
func rules(name, chain, inside string) string {
	return fmt.Sprintf(`<filter name='%s' chain='%s'>%s</filter>`, name, chain, inside)
}

func verdicts() []verdict {
	udp4 := func(src, dst string, sport, dport int) frame {
		return frame{fmt.Sprintf("a datagram from %s:%d to %s:%d", src, sport, dst, dport), ip4{src: src, dst: dst, proto: 17, payload: udp(sport, dport)}.frame()}
	}
	fromMAC := func(mac string) frame {
		return frame{"a datagram from " + mac, ip4{smac: mac, proto: 17, payload: udp(1, 2)}.frame()}
	}
	request := frame{"a request of ARP", arpFor(0x0806, 1, macA, ipA, "00:00:00:00:00:00", ipB)}
	foreign := frame{"a request of ARP from another address", arpFor(0x0806, 1, macA, ipB, "00:00:00:00:00:00", ipA)}
	// A packet that says it is TCP and ends with the header of IP, the smallest first fragment (RFC 1858 3) with what follows it, and a
	// first fragment of IPv6 that has no header of TCP.
	headless := frame{"no header of TCP", unhex("52540000000b 52540000000a 0800 45000014 0007 0000 4006 65d3 0a00000a 0a000101")}
	tiny := frame{"a first fragment of eight octets", ip4{proto: 6, fragment: 0x2000, payload: tcp(1024, 80, 2)[:8]}.frame()}
	second := frame{"the second fragment", ip4{proto: 6, fragment: 1, payload: tcp(1024, 80, 2)[8:]}.frame()}
	tiny6 := frame{"a first fragment of IPv6 without the header of TCP", ip6{next: 44, payload: join([]byte{60, 0, 0, 1, 0, 0, 0, 1}, []byte{6, 0, 1, 4, 0, 0, 0, 0})}.frame()}
	return []verdict{
		{
			name: "a rule that drops what lacks an option drops what has no header",
			docs: []string{rules("f", "root", `<rule action='drop' direction='inout'><tcp match='no' option='2'/></rule>`)},
			drop: []frame{headless, tiny}, dropIn: []frame{headless, tiny}, pass: []frame{second}, passIn: []frame{second},
		},
		{
			name: "a rule that drops what has an option drops what has no header",
			docs: []string{rules("f", "root", `<rule action='drop' direction='inout'><tcp option='2'/></rule>`)},
			drop: []frame{headless, tiny}, dropIn: []frame{headless, tiny}, pass: []frame{second}, passIn: []frame{second},
		},
		{
			name: "no rule accepts what has no header for what stands in it",
			docs: []string{rules("f", "root", `<rule action='accept' direction='inout' priority='1' statematch='0'><tcp match='no' option='2'/></rule>`+
				`<rule action='accept' direction='inout' priority='1' statematch='0'><tcp match='no' dstportstart='25'/></rule>`+
				`<rule action='drop' direction='inout' priority='2'><tcp/></rule>`)},
			drop: []frame{headless}, dropIn: []frame{headless},
		},
		{
			name: "no segment passes in fragments of which none has the octet that a rule drops it for",
			docs: []string{rules("f", "root", `<rule action='drop' direction='inout' priority='1'><tcp flags='SYN,ACK/SYN'/></rule>`+
				`<rule action='drop' direction='inout' priority='1'><tcp-ipv6 dstportstart='80'/></rule>`)},
			drop: []frame{tiny, tiny6}, dropIn: []frame{tiny, tiny6}, pass: []frame{second}, passIn: []frame{second},
		},
		{
			name: "a header that is cut short is compared as far as it reaches",
			docs: []string{rules("f", "root", `<rule action='drop' direction='inout' priority='1'><tcp srcportstart='1024' dstportstart='81' flags='SYN,ACK/SYN'/></rule>`)},
			drop: []frame{headless}, pass: []frame{tiny}, passIn: []frame{tiny},
		},
		{
			name: "the first rule that matches decides, by priority",
			docs: []string{rules("f", "root", `<rule action='drop' direction='out' priority='500'><all/></rule>`+
				`<rule action='accept' direction='out' priority='100' statematch='0'><udp dstportstart='53'/></rule>`)},
			pass: []frame{udp4(ipA, ipB, 1, 53)}, drop: []frame{udp4(ipA, ipB, 1, 54)},
			passIn: []frame{udp4(ipB, ipA, 53, 1)}, dropIn: []frame{udp4(ipB, ipA, 54, 1)},
		},
		{
			name: "values of a variable are a list, and other ports have others",
			docs: []string{rules("f", "root", `<rule action='return' direction='out' priority='100'><ip srcipaddr='$IP'/></rule>`+
				`<rule action='drop' direction='out' priority='200'><ip/></rule>`)},
			params: nwfilter.Params{"IP": {ipA, "10.0.0.77"}},
			pass:   []frame{udp4(ipA, ipB, 1, 2), udp4("10.0.0.77", ipB, 1, 2), request},
			drop:   []frame{udp4(ipB, ipA, 1, 2)},
		},
		{
			name:   "a variable's one value may be negated",
			docs:   []string{rules("f", "root", `<rule action='drop' direction='out' priority='100'><mac match='no' srcmacaddr='$MAC'/></rule>`)},
			params: nwfilter.Params{"MAC": {macA}},
			pass:   []frame{fromMAC(macA)}, drop: []frame{fromMAC(macB)}, passIn: []frame{fromMAC(macB)},
		},
		{
			name: "a chain returns to root, and an accept in it passes the frame",
			docs: []string{
				rules("f", "root", `<filterref filter='a'/><rule action='drop' direction='inout' priority='0'><arp opcode='2'/></rule>`),
				rules("a", "arp", `<rule action='accept' direction='out' priority='100'><arp arpsrcipaddr='10.0.0.10'/></rule>`+
					`<rule action='return' direction='out' priority='200'><arp arpsrcipaddr='10.0.0.11'/></rule><rule action='drop' direction='out' priority='300'/>`),
			},
			pass: []frame{request, foreign, fromMAC(macA)},
			drop: []frame{{"from a third", arpFor(0x0806, 1, macA, "10.0.0.12", macB, ipB)}, {"a reply", arpFor(0x0806, 2, macA, ipB, macB, ipA)}},
		},
		{
			name: "an accept of the frame layer does not spare a packet the packet layer",
			docs: []string{rules("f", "root", `<rule action='accept' direction='out' priority='-900'><mac srcmacaddr='52:54:00:00:00:0a'/></rule>`+
				`<rule action='drop' direction='out' priority='500'><udp dstportstart='53'/></rule>`)},
			pass: []frame{udp4(ipA, ipB, 1, 54), request}, drop: []frame{udp4(ipA, ipB, 1, 53)},
		},
		{
			name: "continue counts and goes on",
			docs: []string{rules("f", "root", `<rule action='continue' direction='out' priority='100'><all/></rule>`+
				`<rule action='drop' direction='out' priority='200'><udp/></rule>`)},
			pass: []frame{request}, drop: []frame{udp4(ipA, ipB, 1, 53)},
		},
		{
			name: "a rule for both directions has source and destination exchanged from the guest",
			docs: []string{rules("f", "root", `<rule action='drop' direction='inout' priority='100'><mac srcmacaddr='52:54:00:00:00:0b'/></rule>`)},
			pass: []frame{{"from it", ip4{smac: macB, dmac: macA, proto: 17, payload: udp(1, 2)}.frame()}}, drop: []frame{fromMAC(macA)},
			dropIn: []frame{{"from it", ip4{smac: macB, dmac: macA, proto: 17, payload: udp(1, 2)}.frame()}}, passIn: []frame{fromMAC(macA)},
		},
	}
}

// decided attaches each case's filter and sends its frames.
func decided(t *testing.T, r *Rig) {
	for _, v := range verdicts() {
		p, err := compile(v.params, v.docs...)
		if err != nil {
			t.Errorf("%s: %v", v.name, err)
			continue
		}
		r.Apply(p)
		r.expect(nwfilter.Out, v.name, v.pass, true)
		r.expect(nwfilter.Out, v.name, v.drop, false)
		r.expect(nwfilter.In, v.name, v.passIn, true)
		r.expect(nwfilter.In, v.name, v.dropIn, false)
	}
}

// repeated holds what Backend promises beside verdicts: what was applied is observed, as is what was applied twice, and nothing
// is left of what is gone.
func repeated(t *testing.T, r *Rig) {
	ctx := context.Background()
	doc := rules("f", "root", `<rule action='drop' direction='out' priority='100'><ip match='no' srcipaddr='$IP'/></rule>`)
	var ports []nwfilter.Port
	want := map[string]nwfilter.Attached{}
	for i := range 20 {
		p := r.Compile(nwfilter.Params{"IP": {fmt.Sprintf("10.0.0.%d", i+1)}}, doc)
		p.Name = fmt.Sprintf("ft%d", i)
		ports = append(ports, p)
		want[p.Name] = nwfilter.Attached{Key: p.Program.Key, Hash: p.Values.Hash()}
	}
	observe := func(when string) {
		t.Helper()
		got, err := r.Backend.Observe(ctx)
		if err != nil {
			t.Fatal(err)
		}
		if !maps.Equal(got, want) {
			t.Errorf("%s: observed %v, want %v", when, got, want)
		}
	}
	apply := func(ports []nwfilter.Port, gone ...string) {
		t.Helper()
		if err := r.Backend.Apply(ctx, ports, gone); err != nil {
			t.Fatal(err)
		}
	}
	apply(ports)
	observe("attached")
	apply(ports)
	observe("attached again")
	changed := r.Compile(nwfilter.Params{"IP": {"10.0.1.1"}}, doc)
	changed.Name = ports[3].Name
	apply([]nwfilter.Port{changed}, "never")
	want[changed.Name] = nwfilter.Attached{Key: changed.Program.Key, Hash: changed.Values.Hash()}
	observe("a value changed")
	other := rules("f", "root", `<rule action='drop' direction='out' priority='100'><arp match='no' arpsrcipaddr='$IP'/></rule>`)
	for i := range ports[:10] {
		p := r.Compile(nwfilter.Params{"IP": {fmt.Sprintf("10.0.0.%d", i+1)}}, other)
		p.Name = ports[i].Name
		ports[i] = p
		want[p.Name] = nwfilter.Attached{Key: p.Program.Key, Hash: p.Values.Hash()}
	}
	apply(ports[:10], ports[19].Name)
	delete(want, ports[19].Name)
	observe("half of them redefined, one detached")
	apply(nil, slices.Collect(maps.Keys(want))...)
	clear(want)
	observe("all detached")
}
