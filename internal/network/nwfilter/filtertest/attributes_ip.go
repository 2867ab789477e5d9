package filtertest

import "strings"

func ips() []attribute {
	p := func(name string, x ip4) []frame { return []frame{{name, x.frame()}} }
	web := ip4{proto: 6, payload: tcp(1024, 80, 2)}
	dns := ip4{proto: 17, payload: udp(53, 1025)}
	later := ip4{proto: 6, fragment: 3, payload: tcp(1024, 80, 2)}
	other := []frame{{"of IPv6", ip6{next: 6, payload: tcp(1024, 80, 2)}.frame()}, {"of ARP", arpFor(0x0806, 1, macA, ipA, macB, ipB)}}
	with := func(more ...[]frame) []frame {
		out := append([]frame(nil), other...)
		for _, m := range more {
			out = append(out, m...)
		}
		return out
	}
	swapped := p("the way back", ip4{src: ipB, dst: ipA, proto: 6, payload: tcp(1024, 80, 2)})
	return []attribute{
		{element: `<ip srcipaddr='10.0.0.10'/>`, hit: p("from it", web), miss: swapped, other: other},
		{element: `<ip dstipaddr='10.0.0.11'/>`, hit: p("to it", web), miss: swapped, other: other},
		{element: `<ip srcipaddr='10.0.0.0' srcipmask='255.255.0.0'/>`, hit: p("from there", web), miss: p("from elsewhere", ip4{src: "10.1.0.1", proto: 6}), other: other},
		{element: `<ip dstipaddr='10.0.0.0' dstipmask='24'/>`, hit: p("to there", web), miss: p("to elsewhere", ip4{dst: "10.0.1.1", proto: 6}), other: other},
		{element: `<ip srcmacaddr='52:54:00:00:00:0a'/>`, hit: p("from it", web), miss: p("from another", ip4{smac: macB, proto: 6}), other: other},
		{element: `<ip protocol='tcp'/>`, hit: append(p("a segment", web), p("a later fragment", later)...), miss: p("a datagram", dns), other: other},
		{element: `<ip protocol='47'/>`, hit: p("of GRE", ip4{proto: 47}), miss: p("a datagram", dns), other: other},
		{element: `<ip dscp='46'/>`, hit: p("of that class", ip4{proto: 6, tos: 46<<2 | 1}), miss: p("of another", ip4{proto: 6, tos: 45 << 2}), other: other},
		{positive: true, element: `<ip protocol='tcp' srcportstart='1024'/>`, hit: p("from it", web), miss: p("from another", ip4{proto: 6, payload: tcp(1025, 1024, 2)}), other: with(p("a datagram", dns), p("a later fragment", later), p("of GRE", ip4{proto: 47, payload: udp(1024, 1024)})), cut: headless(web.frame(), 20)[:2]},
		{positive: true, element: `<ip protocol='tcp' dstportstart='79' dstportend='81'/>`, hit: p("to it", web), miss: p("to another", ip4{proto: 6, payload: tcp(80, 82, 2)}), other: with(p("a datagram", dns), p("a later fragment", later)), cut: headless(web.frame(), 20)[:2]},
	}
}

func ip6s() []attribute {
	p := func(name string, x ip6) []frame { return []frame{{name, x.frame()}} }
	web := ip6{next: 6, payload: tcp(1024, 80, 2)}
	dns := ip6{next: 17, payload: udp(53, 1025)}
	echo := ip6{next: 58, payload: icmp(128, 0)}
	hop := ip6{next: 0, payload: join([]byte{6, 0, 1, 4, 0, 0, 0, 0}, tcp(1024, 80, 2))}
	later := ip6{next: 44, payload: join([]byte{6, 0, 0, 8, 0, 0, 0, 1}, tcp(1024, 80, 2))}
	other := []frame{{"of IPv4", ip4{proto: 6, payload: tcp(1024, 80, 2)}.frame()}}
	with := func(more ...[]frame) []frame {
		out := append([]frame(nil), other...)
		for _, m := range more {
			out = append(out, m...)
		}
		return out
	}
	swapped := p("the way back", ip6{src: ip6B, dst: ip6A, next: 6, payload: tcp(1024, 80, 2)})
	return []attribute{
		{element: `<ipv6 srcipaddr='2001:db8::a'/>`, hit: p("from it", web), miss: swapped, other: other},
		{element: `<ipv6 dstipaddr='2001:db8::b'/>`, hit: p("to it", web), miss: swapped, other: other},
		{element: `<ipv6 srcipaddr='2001:db8::' srcipmask='ffff:ffff:ffff::'/>`, hit: p("from there", web), miss: p("from elsewhere", ip6{src: "2001:db9::1", next: 6}), other: other},
		{element: `<ipv6 dstipaddr='ff02::' dstipmask='16'/>`, hit: p("to a group", ip6{dst: "ff02::1", next: 17, payload: udp(1, 2)}), miss: p("to one", web), other: other},
		{element: `<ipv6 protocol='tcp'/>`, hit: append(append(p("a segment", web), p("behind another header", hop)...), p("a later fragment", later)...), miss: append(p("a datagram", dns), p("AH", ip6{next: 51, payload: join([]byte{6, 4}, make([]byte, 22), tcp(1, 80, 2))})...), other: other},
		{element: `<ipv6 protocol='51'/>`, hit: p("AH", ip6{next: 51, payload: join([]byte{6, 4}, make([]byte, 22), tcp(1, 80, 2))}), miss: p("a segment", web), other: other},
		{element: `<ipv6 dscp='46'/>`, hit: p("of that class", ip6{next: 59, traffic: 46<<2 | 1}), miss: p("of another", ip6{next: 59, traffic: 45 << 2}), other: other},
		{positive: true, element: `<ipv6 protocol='tcp' dstportstart='80'/>`, hit: append(p("to it", web), p("behind another header", hop)...), miss: p("to another", dns), other: with(p("a later fragment", later), p("an echo", echo)), cut: headless(web.frame(), 20)[:2]},
		{positive: true, element: `<ipv6 protocol='icmpv6' type='127' typeend='129'/>`, hit: p("an echo", echo), miss: p("a reply", ip6{next: 58, payload: icmp(1, 0)}), other: with(p("a segment", web)), cut: headless(echo.frame(), 8)[:2]},
		{positive: true, element: `<ipv6 protocol='icmpv6' type='128' code='0'/>`, hit: p("an echo", echo), miss: p("of another code", ip6{next: 58, payload: icmp(128, 1)}), other: with(p("a segment", web)), cut: headless(echo.frame(), 8)[:2]},
	}
}

// packets are the cases of the packet layer for IPv4.
func packets() []attribute {
	p := func(x ip4) []byte { return x.frame() }
	six := frame{"of IPv6", ip6{next: 6, payload: tcp(1024, 80, 2)}.frame()}
	var all []attribute
	for name, number := range map[string]int{"tcp": 6, "udp": 17, "udplite": 136, "sctp": 132, "icmp": 1, "igmp": 2, "esp": 50, "ah": 51} {
		payload := map[string][]byte{"tcp": tcp(1024, 80, 2), "icmp": icmp(8, 0)}[name]
		if payload == nil {
			payload = udp(1024, 80)
		}
		own := func(x ip4) []byte { x.proto, x.payload = number, payload; return p(x) }
		other := []frame{six, {"of another protocol", p(ip4{proto: 47, payload: payload})}, {"of ARP", arpFor(0x0806, 1, macA, ipA, macB, ipB)}}
		for _, a := range common(name, own) {
			a.other = append(a.other, other...)
			all = append(all, a)
		}
		if name == "tcp" || name == "udp" || name == "sctp" {
			all = append(all, portCases(name, func(sport, dport, fragment int) []byte {
				body := udp(sport, dport)
				if name == "tcp" {
					body = tcp(sport, dport, 2)
				}
				return p(ip4{proto: number, fragment: fragment, payload: body})
			}, other)...)
		}
	}
	segment := func(flags int, options ...byte) []byte {
		return p(ip4{proto: 6, payload: tcp(1024, 80, flags, options...)})
	}
	echo := func(kind, code int) []byte { return p(ip4{proto: 1, payload: icmp(kind, code)}) }
	return append(append(all, tcpCases("tcp", segment, []frame{six})...),
		attribute{element: `<icmp type='8'/>`, hit: []frame{{"an echo", echo(8, 0)}}, miss: []frame{{"a reply", echo(0, 0)}}, other: []frame{six}, cut: headless(echo(8, 0), 8)[:2]},
		attribute{positive: true, element: `<icmp type='3' code='3'/>`, hit: []frame{{"that code", echo(3, 3)}}, miss: []frame{{"another", echo(3, 1)}}, other: []frame{six}, cut: headless(echo(3, 3), 8)[:2]},
		attribute{positive: true, element: `<all/>`, hit: []frame{{"an echo", echo(8, 0)}, {"of GRE", p(ip4{proto: 47})}, {"a segment", segment(2)}}, other: []frame{six}},
	)
}

// packets6 are those for IPv6.
func packets6() []attribute {
	p := func(x ip6) []byte { return x.frame() }
	four := frame{"of IPv4", ip4{proto: 6, payload: tcp(1024, 80, 2)}.frame()}
	var all []attribute
	for name, number := range map[string]int{"tcp-ipv6": 6, "udp-ipv6": 17, "udplite-ipv6": 136, "sctp-ipv6": 132, "icmpv6": 58, "esp-ipv6": 50, "ah-ipv6": 51} {
		payload := map[string][]byte{"tcp-ipv6": tcp(1024, 80, 2), "icmpv6": icmp(128, 0), "ah-ipv6": join([]byte{47, 4}, make([]byte, 30))}[name]
		if payload == nil {
			payload = udp(1024, 80)
		}
		own := func(x ip4) []byte {
			y := ip6{smac: x.smac, traffic: x.tos, next: number, payload: payload}
			six := map[string]string{"": "", ipB: ip6B, "10.0.0.200": "2001:db8::200"}
			y.src, y.dst = six[x.src], six[x.dst]
			return p(y)
		}
		other := []frame{four, {"of another protocol", p(ip6{next: 47, payload: payload})}}
		for _, a := range common(name, own) {
			a.element = strings.NewReplacer("10.0.0.0", "2001:db8::", "10.0.0.100", "2001:db8::100", "10.0.0.255", "2001:db8::2ff", "10.0.0.10", "2001:db8::a", "10.0.0.11", "2001:db8::b", "'25'", "'121'").Replace(a.element)
			a.other = append(a.other, other...)
			all = append(all, a)
		}
		if name == "tcp-ipv6" || name == "udp-ipv6" || name == "sctp-ipv6" {
			all = append(all, portCases(name, func(sport, dport, fragment int) []byte {
				body := udp(sport, dport)
				if name == "tcp-ipv6" {
					body = tcp(sport, dport, 2)
				}
				if fragment != 0 {
					return p(ip6{next: 44, payload: join([]byte{byte(number), 0}, u16(fragment<<3), u32(1), body)})
				}
				return p(ip6{next: number, payload: body})
			}, other)...)
		}
	}
	segment := func(flags int, options ...byte) []byte {
		return p(ip6{next: 6, payload: tcp(1024, 80, flags, options...)})
	}
	echo := func(kind, code int) []byte { return p(ip6{next: 58, payload: icmp(kind, code)}) }
	return append(append(all, tcpCases("tcp-ipv6", segment, []frame{four})...),
		attribute{element: `<icmpv6 type='128'/>`, hit: []frame{{"an echo", echo(128, 0)}}, miss: []frame{{"a reply", echo(129, 0)}}, other: []frame{four}, cut: headless(echo(128, 0), 8)[:2]},
		attribute{positive: true, element: `<icmpv6 type='1' code='3'/>`, hit: []frame{{"that code", echo(1, 3)}}, miss: []frame{{"another", echo(1, 4)}}, other: []frame{four}, cut: headless(echo(1, 3), 8)[:2]},
		attribute{positive: true, element: `<all-ipv6/>`, hit: []frame{{"an echo", echo(128, 0)}, {"of GRE", p(ip6{next: 47})}, {"a segment", segment(2)}}, other: []frame{four}},
	)
}

// common are the cases that all protocols of the packet layer have.
func common(name string, own func(ip4) []byte) []attribute {
	hit := []frame{{"from A to B", own(ip4{})}}
	from := []frame{{"from B", own(ip4{src: ipB, dst: "10.0.0.200"})}}
	far := []frame{{"from far away", own(ip4{src: "10.0.0.200", dst: "10.0.0.200"})}}
	other := []frame{{"from another MAC", own(ip4{smac: macB})}}
	list := []attribute{
		{element: ` srcipaddr='10.0.0.10'`, hit: hit, miss: from},
		{element: ` dstipaddr='10.0.0.11'`, hit: hit, miss: from},
		{element: ` srcipaddr='10.0.0.0' srcipmask='25'`, hit: append(hit, from...), miss: far},
		{element: ` srcipfrom='10.0.0.10' srcipto='10.0.0.100'`, hit: append(hit, from...), miss: far},
		{element: ` dstipfrom='10.0.0.100' dstipto='10.0.0.255'`, hit: far, miss: hit},
		{element: ` srcmacaddr='52:54:00:00:00:0a'`, hit: hit, miss: other},
		{element: ` dscp='46'`, hit: []frame{{"of that class", own(ip4{tos: 46 << 2})}}, miss: hit},
	}
	for i := range list {
		list[i].element = "<" + name + list[i].element + "/>"
	}
	return list
}

func portCases(name string, packet func(sport, dport, fragment int) []byte, other []frame) []attribute {
	f := func(name string, sport, dport int) []frame { return []frame{{name, packet(sport, dport, 0)}} }
	others := append([]frame{{"a later fragment", packet(1024, 80, 3)}}, other...)
	length := 12
	if strings.HasPrefix(name, "tcp") {
		length = 20
	}
	cut := headless(packet(1024, 80, 0), length)[:2]
	return []attribute{
		{element: "<" + name + " srcportstart='1024'/>", hit: f("from it", 1024, 80), miss: f("from another", 1025, 1024), other: others, cut: cut},
		{element: "<" + name + " dstportstart='80'/>", hit: f("to it", 1024, 80), miss: f("to another", 80, 81), other: others, cut: cut},
		{element: "<" + name + " srcportstart='1000' srcportend='1024'/>", hit: append(f("the last", 1024, 80), f("the first", 1000, 80)...), miss: append(f("one more", 1025, 80), f("one less", 999, 80)...), other: others, cut: cut},
		{element: "<" + name + " dstportstart='80' dstportend='90'/>", hit: f("the first", 1024, 80), miss: f("one more", 80, 91), other: others, cut: cut},
	}
}

// headless are packets that end within the header of so many octets that this one ends with: before it, in its ports, and in its last octet.
func headless(f []byte, length int) []frame {
	end := len(f) - length
	return []frame{{"the header of IP alone", cutShort(f, end, true)}, {"three octets more", cutShort(f, end+3, true)}, {"all but an octet", cutShort(f, len(f)-1, true)}}
}

func tcpCases(name string, segment func(flags int, options ...byte) []byte, other []frame) []attribute {
	syn, ack := []frame{{"SYN", segment(0x02)}}, []frame{{"SYN, ACK", segment(0x12)}}
	mss := []frame{{"with an option", segment(0x02, 2, 4, 5, 0xb4)}}
	behind := []frame{{"with the option behind others", segment(0x02, 1, 1, 1, 1, 2, 4, 5, 0xb4)}}
	short := headless(segment(0x02), 20)
	wrong := []frame{{"a data offset behind the end", put(segment(0x02), len(segment(0x02))-8, 0x60)}, {"a data offset within the header", put(segment(0x02), len(segment(0x02))-8, 0x40)}}
	return []attribute{
		{element: "<" + name + " flags='SYN,ACK/SYN'/>", hit: syn, miss: ack, other: other, cut: short},
		{element: "<" + name + " flags='ALL/SYN,ACK'/>", hit: ack, miss: syn, other: other, cut: short},
		{element: "<" + name + " option='2'/>", hit: append(mss, behind...), miss: ack, other: other, cut: append(wrong, short...)},
	}
}
