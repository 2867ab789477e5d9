package nwfilter

import (
	"bytes"
	"maps"
	"slices"
	"strings"
	"testing"

	"taproom/internal/spec"
)

func shipped(tb failer) Set {
	tb.Helper()
	set, err := ShippedSet()
	if err != nil {
		tb.Fatal(err)
	}
	return set
}

func TestLibvirtsFiltersAreThereUnderTheirNames(t *testing.T) {
	t.Parallel()
	set := shipped(t)
	for _, name := range strings.Fields(`allow-arp allow-dhcp allow-dhcp-server allow-dhcpv6 allow-dhcpv6-server allow-incoming-ipv4 allow-incoming-ipv6 allow-ipv4
		allow-ipv6 clean-traffic clean-traffic-gateway no-arp-ip-spoofing no-arp-mac-spoofing no-arp-spoofing no-ip-multicast no-ip-spoofing no-ipv6-multicast
		no-ipv6-spoofing no-mac-broadcast no-mac-spoofing no-other-l2-traffic no-other-rarp-traffic qemu-announce-self qemu-announce-self-rarp`) {
		f := set[name]
		if f == nil {
			t.Errorf("%s is missing", name)
			continue
		}
		delete(set, name)
		if f.UUID == nil || f.UUID.IsZero() {
			t.Errorf("%s has no UUID", name)
		}
	}
	if len(set) > 0 {
		t.Errorf("more than libvirt's: %v", set)
	}
	set = shipped(t)
	seen := map[spec.UUID]string{}
	for name, f := range set {
		if other := seen[*f.UUID]; other != "" {
			t.Errorf("%s and %s have one UUID", name, other)
		}
		seen[*f.UUID] = name
		if err := Check(f); err != nil {
			t.Error(err)
		}
		again, err := spec.ParseFilter(f.Format())
		if err != nil || !bytes.Equal(again.Format(), f.Format()) {
			t.Errorf("%s: not the same again: %v", name, err)
		}
		if !strings.Contains(shippedXML, string(f.Format())) {
			t.Errorf("%s is not shipped in the layout that Format gives:\n%s", name, f.Format())
		}
		p := Params{"MAC": {"52:54:00:00:00:01"}, "IP": {"10.0.0.1"}, "IPV6": {"fe80::1"}, "GATEWAY_MAC": {"52:54:00:00:00:02"}, "DHCPSERVER": {"10.0.0.2"}}
		if name == "allow-dhcpv6-server" {
			p["DHCPSERVER"] = []string{"fe80::2"}
		}
		compiled(t, set, name, p)
	}
	if got := seen[*set["clean-traffic"].UUID]; set["clean-traffic"].UUID.String() != "6494c7ea-159e-5545-b783-6b36c12acef2" || got != "clean-traffic" {
		t.Errorf("the UUID of clean-traffic became %s", set["clean-traffic"].UUID)
	}
}

// judged is a frame, and what a shipped filter does with it.
type judged struct {
	filter string
	d      Direction
	frame  string
	want   Action
}

// TestShippedFiltersDoWhatLibvirtDocuments has the frames that each filter is about.
func TestShippedFiltersDoWhatLibvirtDocuments(t *testing.T) {
	t.Parallel()
	ip := func(src, dst, protocol string) string {
		return "0800 4500002c00004000 40" + protocol + " 0000 " + src + dst
	}
	ip6 := func(src, dst, next, rest string) string {
		return "86dd 60000000 0014 " + next + " 40 " + src + dst + rest
	}
	me, you, any4, everyone := "0a000001 ", "0a000002 ", "00000000 ", "ffffffff "
	dhcp := "00440043 0008 0000"
	offer := "00430044 0008 0000"
	link, dhcps := "fe800000000000000000000000000001 ", "ff020000000000000000000000010002 "
	me6, none6, nodes := "20010db8000000000000000000000001 ", strings.Repeat("00", 16), "ff020000000000000000000000000001 "
	claim := func(opcode, mac, src, dst string) string {
		return "0806 0001 0800 06 04 " + opcode + mac + src + peer + dst
	}
	rarp := func(dst, mac string) string {
		return dst + mac + "8035 0001 0800 06 04 0003 " + mac + any4 + mac + any4
	}
	set := shipped(t)
	p := Params{"MAC": {"52:54:00:00:00:01"}, "IP": {"10.0.0.1", "10.0.0.3"}, "IPV6": {"2001:db8::1"}, "GATEWAY_MAC": {"52:54:00:00:00:02"}, "DHCPSERVER": {"10.0.0.2"}}
	for _, c := range []judged{
		{"no-mac-spoofing", Out, peer + guest + ip(me, you, "11"), Accept},
		{"no-mac-spoofing", Out, guest + peer + ip(me, you, "11"), Drop},
		{"no-mac-spoofing", In, guest + peer + ip(you, me, "11"), Accept},
		{"no-mac-broadcast", Out, all + guest + ip(me, you, "11"), Drop},
		{"no-mac-broadcast", In, all + peer + ip(me, you, "11"), Accept},
		{"no-ip-multicast", Out, peer + guest + ip(me, "e0000001", "02"), Drop},
		{"no-ip-multicast", Out, peer + guest + ip(me, you, "02"), Accept},
		{"no-ipv6-multicast", Out, peer + guest + ip6(link, nodes, "3a", "8700 0000"), Drop},
		{"no-ip-spoofing", Out, peer + guest + ip(me, you, "06"), Accept},
		{"no-ip-spoofing", Out, peer + guest + ip("0a000003", you, "06"), Accept},
		{"no-ip-spoofing", Out, peer + guest + ip(you, me, "06"), Drop},
		{"no-ip-spoofing", Out, all + guest + ip(any4, everyone, "11") + dhcp, Accept},
		{"no-ip-spoofing", Out, all + guest + ip(any4, everyone, "06") + dhcp, Drop},
		{"no-ip-spoofing", In, guest + peer + ip(you, me, "06"), Accept},
		{"no-ipv6-spoofing", Out, peer + guest + ip6(me6, nodes, "06", ""), Accept},
		{"no-ipv6-spoofing", Out, peer + guest + ip6(nodes, me6, "06", ""), Drop},
		{"no-ipv6-spoofing", Out, peer + guest + ip6(link, dhcps, "11", "02220223"), Accept},
		{"no-ipv6-spoofing", Out, peer + guest + ip6(none6, nodes, "3a", "8700 0000"), Accept},
		{"no-ipv6-spoofing", Out, peer + guest + ip6(none6, nodes, "3a", "8800 0000"), Drop},
		{"no-arp-spoofing", Out, all + guest + claim("0001", guest, me, you), Accept},
		{"no-arp-spoofing", Out, all + guest + claim("0002", guest, you, me), Drop},
		{"no-arp-spoofing", Out, all + guest + claim("0002", peer, me, you), Drop},
		{"no-arp-spoofing", Out, all + guest + claim("0001", guest, any4, me), Accept},
		{"no-arp-spoofing", Out, all + guest + claim("0002", guest, any4, me), Drop},
		{"allow-dhcp", Out, all + guest + ip(any4, everyone, "11") + dhcp, Accept},
		{"clean-traffic", Out, peer + guest + ip(me, you, "06"), Accept},
		{"clean-traffic", Out, peer + guest + ip(you, me, "06"), Drop},
		{"clean-traffic", Out, guest + peer + ip(me, you, "06"), Drop},
		{"clean-traffic", In, guest + peer + ip(you, me, "06"), Accept},
		{"clean-traffic", In, guest + peer + claim("0001", peer, you, me), Accept},
		{"clean-traffic", Out, peer + guest + claim("0002", guest, you, me), Drop},
		{"clean-traffic", Out, peer + guest + claim("0002", guest, me, you), Accept},
		{"clean-traffic", Out, peer + guest + ip6(link, nodes, "3a", ""), Drop},
		{"clean-traffic", In, guest + peer + ip6(link, nodes, "3a", ""), Drop},
		{"clean-traffic", Out, rarp(all, guest), Accept},
		{"clean-traffic", Out, rarp(all, peer), Drop},
		{"clean-traffic", In, rarp(all, peer), Accept},
		{"clean-traffic", Out, peer + guest + "8100 0005 0800", Drop},
		{"clean-traffic", Out, "0180c2000000" + guest + "0026 424203", Drop},
		{"clean-traffic-gateway", Out, peer + guest + ip(me, you, "06"), Accept},
		{"clean-traffic-gateway", Out, "525400000003" + guest + ip(me, you, "06"), Drop},
		{"clean-traffic-gateway", In, guest + "525400000003" + ip(you, me, "06"), Drop},
		{"no-other-l2-traffic", In, guest + peer + "0800", Drop},
		{"no-other-rarp-traffic", Out, rarp(all, guest), Drop},
		{"no-other-rarp-traffic", Out, all + guest + "0806", Accept},
	} {
		prog, v := compiled(t, set, c.filter, p)
		if d, err := Simulate(prog, v, c.d, sized(octets(t, c.frame)), Flow{}); err != nil || d.Verdict != c.want {
			t.Errorf("%s, %v, %s: %v %v, want %v", c.filter, c.d, c.frame, d.Verdict, err, c.want)
		}
	}
	// What is allowed is told from the rest by no-other-l2-traffic.
	for _, c := range []judged{
		{"allow-dhcp", Out, all + guest + ip(any4, everyone, "11") + dhcp, Accept},
		{"allow-dhcp", Out, all + guest + ip(any4, everyone, "11") + offer, Drop},
		{"allow-dhcp", In, guest + peer + ip(you, me, "11") + offer, Accept},
		{"allow-dhcp-server", In, guest + peer + ip(you, me, "11") + offer, Accept},
		{"allow-dhcp-server", In, guest + peer + ip("0a000009", me, "11") + offer, Drop},
		{"allow-dhcpv6", Out, all + guest + ip6(link, dhcps, "11", "02220223"), Accept},
		{"allow-dhcpv6", In, guest + peer + ip6(link, link, "11", "02230222"), Accept},
		{"allow-dhcpv6", In, guest + peer + ip6(me6, link, "11", "02230222"), Drop},
		{"allow-arp", In, guest + peer + "0806", Accept},
		{"allow-arp", In, guest + peer + "0800", Drop},
		{"allow-ipv4", Out, peer + guest + "0800", Accept},
		{"allow-ipv6", Out, peer + guest + "86dd", Accept},
		{"allow-incoming-ipv4", Out, peer + guest + "0800", Drop},
		{"allow-incoming-ipv4", In, guest + peer + "0800", Accept},
		{"allow-incoming-ipv6", In, guest + peer + "86dd", Accept},
	} {
		own := maps.Clone(set)
		own["t"] = parse(t, "<filter name='t'><filterref filter='"+c.filter+"'/><filterref filter='no-other-l2-traffic'/></filter>")["t"]
		prog, v := compiled(t, own, "t", p)
		if d, err := Simulate(prog, v, c.d, sized(octets(t, c.frame)), Flow{}); err != nil || d.Verdict != c.want {
			t.Errorf("%s and nothing else, %v, %s: %v %v, want %v", c.filter, c.d, c.frame, d.Verdict, err, c.want)
		}
	}
}

func TestWhileANICLearnsItHasNoMoreThanItNeeds(t *testing.T) {
	t.Parallel()
	discover := all + guest + "0800 45000024 00000000 4011 0000 00000000 ffffffff 00440043 0010 0000"
	offer := guest + peer + "0800 45000024 00000000 4011 0000 0a000002 0a000001 00430044 0010 0000"
	foreign := strings.Replace(offer, "0a000002", "0a000009", 1)
	names := []string{}
	for _, c := range []struct {
		dhcpOnly, trusted                          bool
		arp, spoofed, discover, offer, foreign, v6 Action
	}{
		{false, false, Accept, Drop, Accept, Accept, Accept, Accept},
		{false, true, Accept, Drop, Accept, Accept, Drop, Accept},
		{true, false, Drop, Drop, Accept, Accept, Accept, Drop},
		{true, true, Drop, Drop, Accept, Accept, Drop, Drop},
	} {
		f, err := Learning(c.dhcpOnly, c.trusted)
		if err != nil {
			t.Fatal(err)
		}
		names = append(names, f.Name)
		p, v := compiled(t, Set{f.Name: f}, f.Name, Params{"MAC": {"52:54:00:00:00:01"}, "DHCPSERVER": {"10.0.0.2"}})
		for _, x := range []struct {
			d     Direction
			frame string
			want  Action
		}{
			{Out, peer + guest + arp, c.arp},
			{Out, guest + peer + arp, c.spoofed},
			{Out, discover, c.discover},
			{In, offer, c.offer},
			{In, foreign, c.foreign},
			{Out, peer + guest + "86dd", c.v6},
		} {
			if d, err := Simulate(p, v, x.d, sized(octets(t, x.frame)), Flow{}); err != nil || d.Verdict != x.want {
				t.Errorf("%s, %v, %s: %v %v, want %v", f.Name, x.d, x.frame, d.Verdict, err, x.want)
			}
		}
	}
	if slices.Sort(names); len(slices.Compact(names)) != 4 {
		t.Errorf("names: %v", names)
	}
}
