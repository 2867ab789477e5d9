package nwfilter

import (
	"encoding/binary"
	"encoding/hex"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// octets reads hexadecimal digits; blanks and newlines between them are for people.
func octets(tb failer, s string) []byte {
	tb.Helper()
	b, err := hex.DecodeString(strings.Join(strings.Fields(s), ""))
	if err != nil {
		tb.Fatal(err)
	}
	return b
}

// sized makes the lengths in the header of IP fit the frame.
func sized(frame []byte) []byte {
	switch {
	case len(frame) >= 34 && frame[12] == 8 && frame[13] == 0:
		binary.BigEndian.PutUint16(frame[16:], uint16(len(frame)-14))
	case len(frame) >= 54 && frame[12] == 0x86 && frame[13] == 0xdd:
		binary.BigEndian.PutUint16(frame[18:], uint16(len(frame)-54))
	}
	return frame
}

const (
	guest, peer, all = "525400000001 ", "525400000002 ", "ffffffffffff "
	// From 10.0.0.1 to 10.0.0.2, TCP, DSCP 10; ports 1000 to 80; SYN, with an option of kind 2.
	ipv4 = "0800 4528002c00004000 4006 0000 0a000001 0a000002 "
	tcp  = "03e80050 00000000 00000000 6002 0000 0000 0000 020405b4 "
	udp  = "00440043 0008 0000"
	arp  = "0806 0001 0800 06 04 0001 525400000001 0a000001 000000000000 0a000002"
)

func TestEveryAttributeIsMetByItsFrameAndByNoOther(t *testing.T) {
	t.Parallel()
	ipv6 := "86dd 62800000 0014 3a 40 fe800000000000000000000000000001 ff020000000000000000000000000002 "
	icmp6 := "87 01 0000 00000000"
	stp := "0180c2000000" + guest + "0026 424203 0000 00 00 01 8000 525400000009 00000064 9000 52540000000a 8001 0100 1400 0200 0f00"
	vlan := guest + peer + "8100 2005 0806"
	esp := func(p string) string { return strings.Replace(ipv4, "4006", "40"+p, 1) }
	for _, c := range []struct{ frame, is, isNot string }{
		{guest + peer + arp, "mac srcmacaddr='52:54:00:00:00:02'", "mac srcmacaddr='52:54:00:00:00:01'"},
		{guest + peer + arp, "mac dstmacaddr='52:54:ff:00:00:02' dstmacmask='ff:ff:00:00:00:00'", "mac dstmacaddr='52:54:ff:00:00:02' dstmacmask='ff:ff:ff:00:00:00'"},
		{guest + peer + arp, "mac protocolid='arp'", "mac protocolid='0x800'"},
		{vlan, "vlan vlanid='5' encap-protocol='arp'", "vlan vlanid='6'"},
		{vlan, "vlan srcmacaddr='52:54:00:00:00:02'", "vlan encap-protocol='ipv4'"},
		{guest + peer + arp, "arp hwtype='1' protocoltype='0x800' opcode='request'", "arp opcode='Reply'"},
		{guest + peer + arp, "arp arpsrcmacaddr='52:54:00:00:00:01' arpsrcipaddr='10.0.0.1'", "arp arpsrcipaddr='10.0.0.2'"},
		{guest + peer + arp, "arp arpdstmacaddr='00:00:00:00:00:00' arpdstipaddr='10.0.9.9' arpdstipmask='255.255.0.0'", "arp gratuitous='true'"},
		{guest + peer + arp, "arp gratuitous='false'", "rarp"},
		{guest + peer + strings.Replace(arp, "0a000002", "0a000001", 1), "arp gratuitous='true'", "arp arpdstipaddr='10.0.0.2'"},
		{guest + peer + strings.Replace(arp, "0806", "8035", 1), "rarp opcode='1'", "arp"},
		{stp, "stp type='0' flags='1' root-priority='32768' root-address='52:54:00:00:00:09' root-cost='50' root-cost-hi='100'", "stp flags='2'"},
		{stp, "stp sender-priority='0x8fff' sender-priority-hi='0x9000' sender-address='52:54:00:00:00:00' sender-address-mask='ff:ff:ff:00:00:00'", "stp root-cost='101' root-cost-hi='102'"},
		{stp, "stp port='32769' age='256' max-age='5120' hello-time='512' forward-delay='3840'", "stp forward-delay='3839'"},
		{guest + peer + ipv4 + tcp, "ip srcipaddr='10.0.0.1' dstipaddr='10.0.0.2' protocol='tcp'", "ip protocol='udp'"},
		{guest + peer + ipv4 + tcp, "ip srcipaddr='10.0.3.9' srcipmask='22' dscp='10'", "ip srcipaddr='10.0.4.9' srcipmask='22'"},
		{guest + peer + ipv4 + tcp, "ip protocol='6' srcportstart='999' srcportend='1000' dstportstart='80'", "ip protocol='tcp' dstportstart='81' dstportend='90'"},
		{guest + peer + ipv6 + icmp6, "ipv6 srcipaddr='fe80::' srcipmask='10' dstipaddr='ff02::2' protocol='icmpv6' type='133' typeend='136' code='1'", "ipv6 protocol='icmpv6' type='136'"},
		{guest + peer + ipv6 + icmp6, "ipv6 dscp='10'", "ip"},
		{guest + peer + ipv4 + tcp, "tcp srcipfrom='10.0.0.0' srcipto='10.0.0.1' dstportstart='80'", "tcp dstipfrom='10.0.0.3' dstipto='10.0.0.4'"},
		{guest + peer + ipv4 + tcp, "tcp flags='SYN,ACK/SYN' option='2'", "tcp flags='ALL/ACK'"},
		{guest + peer + ipv4 + tcp, "tcp srcmacaddr='52:54:00:00:00:02' dscp='10'", "tcp option='4'"},
		{guest + peer + ipv4 + tcp, "all", "udp"},
		{guest + peer + ipv6 + icmp6, "icmpv6 type='135' code='1'", "icmpv6 type='135' code='0'"},
		{guest + peer + ipv6 + icmp6, "all-ipv6 dstipaddr='ff00::' dstipmask='ff00::'", "all"},
		{guest + peer + esp("01") + "0800 0000", "icmp type='8' code='0'", "icmp type='0'"},
		{guest + peer + esp("32"), "esp", "ah"},
		{guest + peer + esp("33"), "ah", "esp"},
		{guest + peer + esp("02"), "igmp", "icmp"},
		{guest + peer + esp("84") + "00010002", "sctp srcportstart='1' dstportstart='2'", "sctp dstportstart='1'"},
		{guest + peer + esp("88"), "udplite", "udp"},
		{guest + peer + ipv6[:19] + "88" + ipv6[21:] + icmp6, "udplite-ipv6", "esp-ipv6"},
	} {
		for _, want := range []struct {
			element string
			met     bool
		}{{c.is, true}, {c.isNot, false}} {
			p, v := compiled(t, rules(t, "<rule action='drop' direction='in' statematch='0'><"+want.element+"/></rule>"), "t", nil)
			d, err := Simulate(p, v, In, sized(octets(t, c.frame)), Flow{})
			if err != nil || (d.Verdict == Drop) != want.met {
				t.Errorf("%s on %s: %v %v", want.element, c.frame, d.Verdict, err)
			}
		}
	}
}

func TestWhatAFrameDoesNotHaveIsNeitherEqualNorUnequal(t *testing.T) {
	t.Parallel()
	fragment := strings.Replace(ipv4, "4000", "2001", 1)
	for _, c := range []struct{ frame, element string }{
		{guest + peer + fragment + tcp, "tcp dstportstart='80'"},
		{guest + peer + ipv4 + tcp, "udp dstportstart='80'"},
		{guest + peer + arp[:len(arp)-2], "arp arpdstipaddr='10.0.0.2'"},
		{guest + peer + strings.Replace(arp, "0001 0800", "0006 0800", 1), "arp arpsrcmacaddr='52:54:00:00:00:01'"},
		{guest + peer + "0800 45", "ip srcipaddr='10.0.0.1'"},
		{guest + peer + "86dd 60", "ipv6 dscp='1'"},
		{"0180c2000000" + guest + "0026 aaaa03", "stp type='0'"},
		{guest + peer + "8100 20", "vlan vlanid='5'"},
	} {
		for _, match := range []string{"", " match='no'"} {
			p, v := compiled(t, rules(t, "<rule action='drop' direction='in' statematch='0'><"+c.element+match+"/></rule>"), "t", nil)
			if d, err := Simulate(p, v, In, sized(octets(t, c.frame)), Flow{}); err != nil || d.Verdict == Drop {
				t.Errorf("%s%s on %s: %v %v", c.element, match, c.frame, d.Verdict, err)
			}
		}
	}
	if _, err := Simulate(&Program{Chains: []Chain{{Name: "root"}}}, nil, In, make([]byte, 13), Flow{}); err == nil {
		t.Error("a frame of 13 octets was judged")
	}
}

// A rule that drops is met by a packet whose header ends before what the rule asks for, and one that accepts is not.
func TestSimulate_CutHeader(t *testing.T) {
	t.Parallel()
	six := func(next, rest string) string {
		return guest + peer + "86dd 60000000 0000" + next + "40 fe800000000000000000000000000001 fe800000000000000000000000000002 " + rest
	}
	four := func(protocol string) string { return guest + peer + strings.Replace(ipv4, "4006", "40"+protocol, 1) }
	first := strings.Replace(ipv4, "4000", "2000", 1)
	later := strings.Replace(ipv4, "4000", "2001", 1)
	for _, c := range []struct {
		frame, element string
		cut            bool
	}{
		{guest + peer + ipv4, "tcp option='2'", true},
		{guest + peer + ipv4, "tcp dstportstart='80'", true},
		{guest + peer + ipv4, "tcp dstportstart='80' srcipaddr='10.0.0.1'", true},
		{guest + peer + ipv4, "ip protocol='tcp' dstportstart='80'", true},
		{guest + peer + ipv4 + "03e800", "tcp srcportstart='1000'", true},
		{guest + peer + first + "03e80050 00000000", "tcp dstportstart='80' flags='SYN/SYN'", true},
		{guest + peer + ipv4 + "03e80050 00000000 00000000 6002 0000 0000 0000", "tcp option='2'", true},
		{guest + peer + ipv4 + "03e80050 00000000 00000000 4002 0000 0000 0000", "tcp option='2'", true},
		{four("11") + "0044", "udp srcportstart='68'", true},
		{four("84"), "sctp srcportstart='68'", true},
		{four("01") + "0800", "icmp type='8'", true},
		{strings.Replace(four("06"), "0800 45", "0800 4f", 1) + tcp, "tcp dstportstart='80'", true},
		{strings.Replace(four("06"), "0800 45", "0800 44", 1) + tcp, "tcp dstportstart='80'", true},
		{six("06", ""), "tcp-ipv6 dstportstart='80'", true},
		{six("3a", "8700"), "icmpv6 type='135'", true},
		{six("00", "06000000 00000000"), "tcp-ipv6 dstportstart='80'", true},
		{six("2c", "3c000001 00000001 0600"), "tcp-ipv6 dstportstart='80'", true},
		{guest + peer + later, "tcp dstportstart='80'", false},
		{six("2c", "06000008 00000001"), "tcp-ipv6 dstportstart='80'", false},
		{guest + peer + ipv4 + "03e80050 00000000 00000000 5002 0000 0000 0000", "tcp flags='ACK/ACK'", false},
		{four("11"), "tcp dstportstart='80'", false},
		{guest + peer + first + "03e80016 00000000", "tcp dstportstart='80' flags='SYN/SYN'", false},
		{six("00", "06"), "tcp-ipv6 dstportstart='80'", false}, // no protocol is known
	} {
		elements := []string{c.element}
		if strings.Contains(c.element, "option") {
			elements = append(elements, strings.Replace(c.element, "option=", "match='no' option=", 1))
		}
		for _, element := range elements {
			for action, want := range map[string]Action{"drop": Drop, "reject": Reject, "accept": Accept, "return": Accept, "continue": Accept} {
				p, v := compiled(t, rules(t, "<rule action='"+action+"' direction='in' statematch='0'><"+element+"/></rule>"), "t", nil)
				d, err := Simulate(p, v, In, sized(octets(t, c.frame)), Flow{})
				if want == Reject && p.Packet == nil {
					want = Drop
				}
				if !c.cut {
					want = Accept
				}
				if err != nil || d.Verdict != want || d.Rule != nil && want == Accept {
					t.Errorf("%s by %s on %s: %v by %v (%v), want %v by no rule", action, element, c.frame, d.Verdict, d.Rule, err, want)
				}
			}
		}
	}
}

func TestAConnectionIsAnsweredAndNotTurnedRound(t *testing.T) {
	t.Parallel()
	set := rules(t, "<rule action='accept' direction='out'><tcp dstportstart='80'/></rule>"+
		"<rule action='accept' direction='in'><tcp state='RELATED'/></rule><rule action='reject' direction='inout'><all/></rule>")
	p, v := compiled(t, set, "t", nil)
	there, back := sized(octets(t, peer+guest+ipv4+tcp)), sized(octets(t, guest+peer+"0800 4500002c00004000 4006 0000 0a000002 0a000001 005003e8 00000000 00000000 5012 0000 0000 0000"))
	for _, c := range []struct {
		name  string
		d     Direction
		frame []byte
		flow  Flow
		want  Action
	}{
		{"a connection begins", Out, there, Flow{}, Accept},
		{"it goes on", Out, there, Flow{State: Established}, Accept},
		{"it is answered", In, back, Flow{State: Established, Reply: true}, Accept},
		{"from port 80 a connection begins", In, back, Flow{}, Reject},
		{"it would be the other's connection", In, back, Flow{State: Established}, Reject},
		{"invalid packets", Out, there, Flow{State: Invalid}, Reject},
		{"another port", In, there, Flow{}, Reject},
		{"related", In, there, Flow{State: Related}, Accept},
		{"related, but from the guest", Out, back, Flow{State: Related}, Reject},
	} {
		if d, err := Simulate(p, v, c.d, c.frame, c.flow); err != nil || d.Verdict != c.want {
			t.Errorf("%s: %v %v, want %v", c.name, d.Verdict, err, c.want)
		}
	}
}

func TestLimitsAndSets(t *testing.T) {
	t.Parallel()
	set := rules(t, "<rule action='drop' direction='in'><tcp connlimit-above='2'/></rule>"+
		"<rule action='drop' direction='in'><tcp ipset='bad' ipsetflags='src'/></rule><rule action='drop' direction='out'><tcp match='no' ipset='good' ipsetflags='src'/></rule>")
	p, v := compiled(t, set, "t", nil)
	frame := sized(octets(t, guest+peer+ipv4+tcp))
	for _, c := range []struct {
		d    Direction
		flow Flow
		want Action
	}{
		{In, Flow{Connections: 2, Sets: map[string]bool{"bad": false, "good": true}}, Accept},
		{In, Flow{Connections: 3, Sets: map[string]bool{"bad": false, "good": true}}, Drop},
		{In, Flow{Sets: map[string]bool{"bad": true, "good": true}}, Drop},
		{Out, Flow{Sets: map[string]bool{"bad": false, "good": false}}, Drop},
	} {
		if d, err := Simulate(p, v, c.d, frame, c.flow); err != nil || d.Verdict != c.want {
			t.Errorf("%v %+v: %v %v, want %v", c.d, c.flow, d.Verdict, err, c.want)
		}
	}
	var unknown *SetError
	if _, err := Simulate(p, v, In, frame, Flow{}); !errors.As(err, &unknown) || unknown.Name != "bad" {
		t.Errorf("without a word about the set: %v", err)
	}
}

func TestTheWayThroughChainsIsTold(t *testing.T) {
	t.Parallel()
	set := parse(t,
		"<filter name='top'><filterref filter='v4'/><filterref filter='more'/><rule action='continue' direction='in' priority='-900'/>"+
			"<rule action='accept' direction='in' priority='0'/><rule action='drop' direction='in' priority='1'/></filter>",
		"<filter name='v4' chain='ipv4'><rule action='return' direction='in'><ip protocol='tcp'/></rule><rule action='drop' direction='in'/></filter>",
		"<filter name='more' chain='ipv4-more' priority='-690'><rule action='drop' direction='in'><ip protocol='udp'/></rule></filter>")
	p, v := compiled(t, set, "top", nil)
	d, err := Simulate(p, v, In, sized(octets(t, guest+peer+ipv4+tcp)), Flow{})
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, s := range d.Path {
		if s.Rule == nil {
			got = append(got, s.Chain+": end")
			continue
		}
		got = append(got, s.Chain+": "+s.Rule.String())
	}
	want := []string{
		"root: continue in", "root: jump ipv4 in ip", "ipv4: return in ip ip protocol 6", "root: jump ipv4-more in ip", "ipv4-more: end", "root: accept in", ": end",
	}
	if diff := cmp.Diff(want, got); diff != "" || d.Verdict != Accept || d.Rule == nil || d.Rule.Filter != "top" || d.Rule.Index != 2 {
		t.Errorf("%v by %v (-want +got):\n%s", d.Verdict, d.Rule, diff)
	}
}
