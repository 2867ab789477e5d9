package ebtables

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"taproom/internal/network/nwfilter"
)

func TestFramesPassAsTheFilterSaysAndAsBeforeOnceItIsGone(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	want := func(when string, filtered bool) {
		t.Helper()
		for _, c := range []struct {
			name   string
			d      nwfilter.Direction
			frame  []byte
			passes bool // with the filter
		}{
			{"ARP of its own", nwfilter.Out, arp(card(1), "10.0.0.1"), true},
			{"ARP of its second address", nwfilter.Out, arp(card(1), "10.0.0.2"), true},
			{"ARP of another's address", nwfilter.Out, arp(card(1), "10.0.0.3"), false},
			{"from another card", nwfilter.Out, arp(card(7), "10.0.0.1"), false},
			{"ARP to it", nwfilter.In, arp(card(2), "10.0.0.3"), true},
			{"a packet from another's address", nwfilter.Out, tcp(1, 2, "10.0.0.3", "10.0.0.4", 80), false},
			{"ssh to it", nwfilter.In, tcp(2, 1, "10.0.0.9", "10.0.0.1", 22), true},
			{"the web to it", nwfilter.In, tcp(2, 1, "10.0.0.9", "10.0.0.1", 80), false},
			{"the web of IPv6 to it", nwfilter.In, tcp(2, 1, "fd00::9", "fd00::1", 80), false},
			{"a high port of IPv6", nwfilter.In, tcp(2, 1, "fd00::9", "fd00::1", 8080), true},
		} {
			if got := r.passes(c.d, c.frame); got != (c.passes || !filtered) {
				t.Errorf("%s, %s (%s): passed %t", when, c.name, c.d, got)
			}
		}
	}
	want("before", false)
	r.apply([]nwfilter.Port{compiled(t, "vnet1", params("10.0.0.1"), clean()...)})
	if r.passes(nwfilter.Out, arp(card(1), "10.0.0.2")) {
		t.Error("an address that is not the guest's yet passed")
	}
	r.apply([]nwfilter.Port{compiled(t, "vnet1", params("10.0.0.1", "10.0.0.2"), clean()...)})
	want("with the filter", true)
	counters, err := r.b.Counters(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	met := map[string]uint64{}
	for _, c := range counters {
		met[fmt.Sprintf("%s#%d %s", c.Rule.Filter, c.Rule.Index, c.Rule.Action)] += c.Packets
	}
	for rule, n := range map[string]uint64{"clean#1 drop": 1, "no-arp#1 return": 2, "no-arp#2 drop": 1} {
		if met[rule] != n {
			t.Errorf("%s was met %d times, want %d, of %v", rule, met[rule], n, met)
		}
	}
	r.apply(nil, "vnet1", "vnet7")
	want("afterwards", false)
	for _, save := range []string{"ebtables-save", "iptables-save", "ip6tables-save"} {
		if left := r.ns.Run(save); strings.Contains(left, "tr-") {
			t.Errorf("%s: left behind:\n%s", save, left)
		}
	}
}

func TestWhatIsAppliedIsObservedAndWhatSomebodyTookAwayIsMissed(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	first := compiled(t, "vnet1", params("10.0.0.1"), clean()...)
	second := compiled(t, "vnet2", params("10.0.0.2", "10.0.0.3"), clean()...)
	third := compiled(t, "vnet3", params("10.0.0.4"), `<filter name='other' chain='root'><rule action='accept' direction='inout'><mac/></rule></filter>`)
	want := func(ports ...nwfilter.Port) {
		t.Helper()
		got, err := r.b.Observe(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for _, p := range ports {
			if got[p.Name] != (nwfilter.Attached{Key: p.Program.Key, Hash: p.Values.Hash()}) {
				t.Errorf("of %s there is %+v", p.Name, got[p.Name])
			}
			delete(got, p.Name)
		}
		if len(got) > 0 {
			t.Errorf("there is more: %v", got)
		}
	}
	want()
	r.apply([]nwfilter.Port{first, second, third})
	want(first, second, third)
	r.ns.Shell("ebtables -t nat -F tr-o-vnet1; iptables -F tr-i-vnet2")
	want(third)
	changed := compiled(t, "vnet1", params("10.0.0.8"), clean()...)
	r.apply([]nwfilter.Port{changed}, "vnet3")
	want(changed)
	r.apply([]nwfilter.Port{second})
	want(changed, second)
	r.ns.Shell("iptables -D FORWARD -j tr-in")
	want()
	r.apply([]nwfilter.Port{second})
	want(changed, second)
	r.ns.Shell("ebtables -t nat -F; ebtables -t nat -X; ip6tables -F")
	want()
	r.apply([]nwfilter.Port{changed, second})
	want(changed, second)
	r.apply(nil, "vnet1", "vnet2")
	want()
}

func TestConditionsOfEveryKindAreTakenByThePrograms(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	var rules strings.Builder
	for _, element := range conditions() {
		for _, d := range []string{"in", "out"} {
			fmt.Fprintf(&rules, "<rule action='continue' direction='%s'>%s</rule>", d, element)
		}
	}
	p := compiled(t, "vnet1", params("10.0.0.1"), "<filter name='all' chain='root'>"+rules.String()+"</filter>")
	r.apply([]nwfilter.Port{p})
	got, err := r.b.Observe(t.Context())
	if err != nil || len(got) != 1 {
		t.Errorf("observed %v, %v", got, err)
	}
	counters, err := r.b.Counters(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if want := len(p.Program.Packet) + len(p.Program.Chains[0].Rules); len(counters) != want {
		t.Errorf("%d counters of %d rules", len(counters), want)
	}
	r.apply(nil, "vnet1")
}

// conditions are elements with everything that these programs have a word for.
func conditions() []string {
	return []string{
		`<mac srcmacaddr='$MAC' dstmacaddr='01:00:5e:00:00:00' dstmacmask='ff:ff:ff:80:00:00' protocolid='0x88b5'/>`,
		`<mac match='no' srcmacaddr='$MAC'/>`,
		`<vlan vlanid='7' encap-protocol='arp'/>`,
		`<stp srcmacaddr='$MAC'/>`,
		`<arp hwtype='1' protocoltype='0x0800' opcode='Request' arpsrcmacaddr='$MAC' arpdstmacaddr='$MAC' arpsrcipaddr='$IP' arpdstipaddr='10.0.0.0' arpdstipmask='24'/>`,
		`<arp gratuitous='true'/>`,
		`<arp match='no' opcode='2'/>`,
		`<rarp opcode='3'/>`,
		`<ip srcipaddr='$IP' dstipaddr='10.0.0.0' dstipmask='255.255.0.0' protocol='udp' srcportstart='67' srcportend='68' dstportstart='5' dscp='46'/>`,
		`<ip match='no' dstipaddr='224.0.0.0' dstipmask='4'/>`,
		`<ipv6 srcipaddr='fe80::' srcipmask='10' protocol='icmpv6' type='133' typeend='137' code='0'/>`,
		`<ipv6 protocol='tcp' dstportstart='80' dstportend='81' dscp='1'/>`,
		`<tcp srcmacaddr='$MAC' srcipaddr='$IP' dstipfrom='10.0.0.1' dstipto='10.0.0.9' srcportstart='1' srcportend='9' flags='SYN,ACK/SYN' option='3' dscp='4' state='NEW'/>`,
		`<tcp connlimit-above='3'/>`,
		`<tcp match='no' srcipaddr='$IP'/>`,
		`<udp dstportstart='53'/>`,
		`<udplite/>`,
		`<sctp dstportstart='53' dstportend='54'/>`,
		`<icmp type='3' code='3'/>`,
		`<icmp match='no' type='8'/>`,
		`<igmp/>`, `<esp/>`, `<ah/>`, `<all srcipaddr='10.0.0.0' srcipmask='8'/>`,
		`<tcp-ipv6 srcmacaddr='$MAC' dstipaddr='fd00::1' dstportstart='443'/>`,
		`<udp-ipv6 srcipfrom='fd00::1' srcipto='fd00::9'/>`,
		`<icmpv6 type='128' code='0'/>`, `<sctp-ipv6 srcportstart='1'/>`, `<udplite-ipv6/>`, `<esp-ipv6/>`, `<ah-ipv6/>`, `<all-ipv6 dscp='1'/>`,
	}
}

func TestWhatTheProgramsHaveNoWordForIsRefusedAndNothingChanges(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	good := compiled(t, "vnet1", params("10.0.0.1"), clean()...)
	r.apply([]nwfilter.Port{good})
	bad := []string{`<stp type='0x80'/>`, `<stp match='no' age='256'/>`, `<ip match='no' dscp='4'/>`, `<icmpv6 match='no' type='1' code='1'/>`, `<tcp ipset='nobody' ipsetflags='src'/>`}
	for _, element := range bad {
		p := compiled(t, "vnet2", params("10.0.0.2"), "<filter name='bad' chain='root'><rule action='drop' direction='out'>"+element+"</rule></filter>")
		if err := r.b.Apply(t.Context(), []nwfilter.Port{p}, nil); err == nil {
			t.Errorf("%s was taken", element)
		}
		got, err := r.b.Observe(t.Context())
		if err != nil || got["vnet1"].Key != good.Program.Key || slices.Contains([]string{got["vnet2"].Key}, p.Program.Key) {
			t.Errorf("after %s: %v, %v", element, got, err)
		}
	}
	r.apply(nil, "vnet1", "vnet2")
}

// A later fragment has no port, whatever follows its IP header, and ARP of other hardware has no IP addresses that a rule compares.
func TestLaterFragmentsAndForeignHardware_MeetNoConditionOnPortsAndAddresses(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	fragment := tcp(1, 2, "10.0.0.1", "10.0.0.2", 80)
	fragment[14+7] = 185 // its offset; the checksum of the header follows it
	fragment[14+10], fragment[14+11] = 0, 0
	var sum uint32
	for i := 14; i < 34; i += 2 {
		sum += uint32(fragment[i])<<8 | uint32(fragment[i+1])
	}
	sum = sum>>16 + sum&0xffff
	fragment[14+10], fragment[14+11] = ^byte(sum>>8), ^byte(sum)
	token := arp(card(1), "10.0.0.1")
	token[15] = 6 // IEEE 802
	r.ns.Run("sysctl", "-qw", "net.bridge.bridge-nf-call-arptables=0")
	r.apply([]nwfilter.Port{compiled(t, "vnet1", params("10.0.0.1"), `<filter name='f' chain='root'><rule action='drop' direction='out' statematch='0'><tcp dstportstart='80'/></rule>`+
		`<rule action='drop' direction='out'><arp arpsrcipaddr='$IP'/></rule></filter>`)})
	for _, c := range []struct {
		name   string
		frame  []byte
		passes bool
	}{
		{"a segment", tcp(1, 2, "10.0.0.1", "10.0.0.2", 80), false},
		{"a later fragment", fragment, true},
		{"ARP for Ethernet", arp(card(1), "10.0.0.1"), false},
		{"ARP for IEEE 802", token, true},
	} {
		if got := r.passes(nwfilter.Out, c.frame); got != c.passes {
			t.Errorf("%s: passed %t, want %t", c.name, got, c.passes)
		}
	}
	r.apply(nil, "vnet1")
}
