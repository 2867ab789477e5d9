package filtertest

const broadcast = "ff:ff:ff:ff:ff:ff"

// attributes are cases for all that rules can say of a frame, with what the documentation of the language says of each
// (libvirt, formatnwfilter.html, "Supported protocols").
func attributes() []attribute {
	var all []attribute
	for _, list := range [][]attribute{macs(), vlans(), stps(), arps(), ips(), ip6s(), packets(), packets6()} {
		all = append(all, list...)
	}
	return all
}

func plainUDP(smac, dmac string) []byte {
	return ip4{smac: smac, dmac: dmac, proto: 17, payload: udp(1, 2)}.frame()
}

func macs() []attribute {
	request := frame{"a request of ARP", arpFor(0x0806, 1, macA, ipA, "00:00:00:00:00:00", ipB)}
	datagram := frame{"a datagram", plainUDP("", "")}
	unknown := frame{"a frame of type 0x88b5", ether(macA, macB, 0x88b5, []byte("x"))}
	return []attribute{
		{
			element: `<mac srcmacaddr='52:54:00:00:00:0a'/>`, hit: []frame{datagram, request, unknown},
			miss: []frame{{"from another", plainUDP(macB, macA)}},
		},
		{
			element: `<mac srcmacaddr='52:54:00:00:00:00' srcmacmask='ff:ff:ff:00:00:00'/>`, hit: []frame{datagram},
			miss: []frame{{"from another vendor", plainUDP("52:55:00:00:00:0a", "")}},
		},
		{
			element: `<mac dstmacaddr='ff:ff:ff:ff:ff:ff'/>`, hit: []frame{request}, miss: []frame{datagram},
		},
		{
			element: `<mac dstmacaddr='01:00:5e:00:00:00' dstmacmask='ff:ff:ff:80:00:00'/>`,
			hit:     []frame{{"to a group", plainUDP("", "01:00:5e:7f:00:01")}}, miss: []frame{datagram, request, {"to another's group", plainUDP("", "01:00:5e:80:00:01")}},
		},
		{element: `<mac protocolid='arp'/>`, hit: []frame{request}, miss: []frame{datagram, unknown}},
		{element: `<mac protocolid='0x88b5'/>`, hit: []frame{unknown}, miss: []frame{datagram, {"with a tag", tagged(5, 0x88b5, []byte("some"))}}},
		{element: `<mac protocolid='vlan'/>`, hit: []frame{{"with a tag", tagged(5, 0x88b5, []byte("some"))}}, miss: []frame{unknown}},
	}
}

func vlans() []attribute {
	five := frame{"VLAN 5", tagged(5, 0x0800, []byte("some"))}
	high := frame{"VLAN 5 of priority 3", tagged(3<<13|5, 0x0800, []byte("some"))}
	six := frame{"VLAN 6 of ARP", tagged(6, 0x0806, []byte("some"))}
	untagged := frame{"without a tag", plainUDP("", "")}
	return []attribute{
		{element: `<vlan vlanid='5'/>`, hit: []frame{five, high}, miss: []frame{six}, other: []frame{untagged}},
		{element: `<vlan vlanid='0x006'/>`, hit: []frame{six}, miss: []frame{five}, other: []frame{untagged}},
		{element: `<vlan encap-protocol='arp'/>`, hit: []frame{six}, miss: []frame{five, high}, other: []frame{untagged}},
		{element: `<vlan encap-protocol='2048'/>`, hit: []frame{five}, miss: []frame{six}, other: []frame{untagged}},
		{element: `<vlan srcmacaddr='52:54:00:00:00:0a'/>`, hit: []frame{five, six}, other: []frame{untagged}},
		{element: `<vlan dstmacaddr='52:54:00:00:00:0b'/>`, hit: []frame{five, six}, other: []frame{untagged}},
	}
}

func stps() []attribute {
	base := bpdu{kind: 0x80, flags: 1, rootPriority: 0x1000, rootCost: 70000, senderPriority: 0x2000, port: 0x8001, age: 256, maxAge: 5120, hello: 512, delay: 3840}
	hit := []frame{{"the BPDU", base.frame()}}
	other := []frame{{"no BPDU", plainUDP("", "")}, {"a frame to the group that is no BPDU", ether(macA, "01:80:c2:00:00:00", 8, unhex("aaaa03000000 0000"))}}
	but := func(change func(*bpdu)) []frame {
		b := base
		change(&b)
		return []frame{{"another BPDU", b.frame()}}
	}
	return []attribute{
		{element: `<stp type='0x80'/>`, hit: hit, miss: but(func(b *bpdu) { b.kind = 0 }), other: other},
		{element: `<stp flags='1'/>`, hit: hit, miss: but(func(b *bpdu) { b.flags = 0x80 }), other: other},
		{element: `<stp root-priority='4095' root-priority-hi='4097'/>`, hit: hit, miss: but(func(b *bpdu) { b.rootPriority = 4098 }), other: other},
		{element: `<stp root-address='52:54:00:00:00:0a'/>`, hit: hit, miss: but(func(b *bpdu) { b.root = macB }), other: other},
		{element: `<stp root-address='52:54:00:00:00:00' root-address-mask='ff:ff:ff:00:00:00'/>`, hit: hit, miss: but(func(b *bpdu) { b.root = "00:00:00:00:00:0a" }), other: other},
		{element: `<stp root-cost='70000'/>`, hit: hit, miss: but(func(b *bpdu) { b.rootCost = 70000 - 65536 }), other: other},
		{element: `<stp sender-priority='0x2000'/>`, hit: hit, miss: but(func(b *bpdu) { b.senderPriority = 0x2001 }), other: other},
		{element: `<stp sender-address='52:54:00:00:00:0b'/>`, hit: hit, miss: but(func(b *bpdu) { b.sender = macA }), other: other},
		{element: `<stp port='0x8001' port-hi='0x8002'/>`, hit: hit, miss: but(func(b *bpdu) { b.port = 0x8003 }), other: other},
		{element: `<stp age='256'/>`, hit: hit, miss: but(func(b *bpdu) { b.age = 0 }), other: other},
		{element: `<stp max-age='5120'/>`, hit: hit, miss: but(func(b *bpdu) { b.maxAge = 20 }), other: other},
		{element: `<stp hello-time='512'/>`, hit: hit, miss: but(func(b *bpdu) { b.hello = 2 }), other: other},
		{element: `<stp forward-delay='3840'/>`, hit: hit, miss: but(func(b *bpdu) { b.delay = 15 }), other: other},
	}
}

func arps() []attribute {
	var all []attribute
	for name, kind := range map[string]int{"arp": 0x0806, "rarp": 0x8035} {
		different := 0x0806 + 0x8035 - kind
		request := []frame{{"a request", arpFor(kind, 1, macA, ipA, "00:00:00:00:00:00", ipB)}}
		reply := []frame{{"a reply", arpFor(kind, 2, macB, ipB, macA, ipA)}}
		itself := []frame{{"an announcement", arpFor(kind, 1, macA, ipA, "00:00:00:00:00:00", ipA)}}
		other := []frame{{"a datagram", plainUDP("", "")}, {"of the other kind", arpFor(different, 1, macA, ipA, macB, ipB)}}
		token := []frame{{"of another hardware", ether(macA, broadcast, kind, unhex("0006 0800 06 04 0001"), mac(macA), ip(ipA), mac(macB), ip(ipB))}}
		wide := []frame{{"of wider addresses", ether(macA, broadcast, kind, unhex("0001 86dd 06 10 0001"), mac(macA), ip(ip6A), mac(macB), ip(ip6B))}}
		cut := []frame{{"cut short", arpFor(kind, 1, macA, ipA, macB, ipB)[:30]}}
		none := func(lists ...[]frame) (out []frame) {
			out = append(out, other...)
			for _, l := range lists {
				out = append(out, l...)
			}
			return out
		}
		for _, a := range []attribute{
			{element: ` hwtype='1'`, hit: request, miss: token, other: other},
			{element: ` protocoltype='0x0800'`, hit: request, miss: wide, other: other},
			{element: ` opcode='1'`, hit: request, miss: reply, other: other},
			{element: ` opcode='Reply'`, hit: reply, miss: request, other: other},
			{element: ` arpsrcmacaddr='52:54:00:00:00:0a'`, hit: request, miss: reply, other: none(token)},
			{element: ` arpdstmacaddr='52:54:00:00:00:0a'`, hit: reply, miss: request, other: none(token, cut)},
			{element: ` arpsrcipaddr='10.0.0.10'`, hit: request, miss: reply, other: none(token, wide, cut)},
			{element: ` arpsrcipaddr='10.0.0.10' arpsrcipmask='255.255.255.255'`, hit: request, miss: reply, other: none(token, wide)},
			{element: ` arpsrcipaddr='10.0.0.10' arpsrcipmask='31'`, hit: append(append([]frame(nil), request...), reply...), other: none(wide)},
			{element: ` arpdstipaddr='10.0.0.10'`, hit: reply, miss: request, other: none(token, wide, cut)},
			{element: ` arpdstipaddr='10.0.0.8' arpdstipmask='255.255.255.254'`, miss: reply, other: none(wide)},
			{element: ` srcmacaddr='52:54:00:00:00:0a'`, hit: request, miss: reply, other: other},
			{element: ` gratuitous='true'`, hit: itself, miss: request, other: none(wide)},
		} {
			a.element = "<" + name + a.element + "/>"
			all = append(all, a)
		}
	}
	return all
}
