package helper_test

import (
	"fmt"
	"net/netip"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/insomniacslk/dhcp/dhcpv4"

	"taproom/internal/network/helper"
	"taproom/internal/network/packet"
)

// rdisc is what rdisc6 prints of the advertisement that it solicits, without how long it took.
func (g *guest) rdisc() string {
	g.s.t.Helper()
	g.shows("fe80::", "ip", "-6", "addr", "show", "dev", "eth0", "-tentative")
	out := g.ns.Run("rdisc6", "-1", "-w", "5000", "-r", "5", "eth0")
	var lines []string
	for line := range strings.Lines(out) {
		line = strings.Join(strings.Fields(line), " ")
		if line != "" && !strings.HasPrefix(line, "Soliciting ") {
			lines = append(lines, line)
		}
	}
	return strings.Join(lines, "\n")
}

func TestRdisc6PrintsWhatTheNetworkSays(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	n := dual()
	index := s.serveDual(n)
	g := s.guest6(n.Bridge, "52:54:00:09:00:0e")
	want := `Hop limit : 64 ( 0x40)
Stateful address conf. : Yes
Stateful other conf. : Yes
Mobile home agent : No
Router preference : medium
Neighbor discovery proxy : No
Router lifetime : 1800 (0x00000708) seconds
Reachable time : unspecified (0x00000000)
Retransmit time : unspecified (0x00000000)
Source link-layer address: 52:54:00:99:00:01
MTU : 1400 bytes (valid)
Prefix : fd00:9::/64
On-link : Yes
Autonomous address conf.: Yes
Valid time : 7200 (0x00001c20) seconds
Pref. time : 3600 (0x00000e10) seconds
Recursive DNS server : fd00:9::1
DNS server lifetime : 1800 (0x00000708) seconds
DNS search list : nine.test
DNS search list lifetime: 1800 (0x00000708) seconds
from fe80::5054:ff:fe99:1`
	if diff := cmp.Diff(want, g.rdisc()); diff != "" {
		t.Errorf("rdisc6 prints (-want +got):\n%s", diff)
	}
	n.RA.Managed, n.RA.MTU, n.RA.RouterSeconds = false, 0, 0
	s.set(n, index)
	got := g.rdisc()
	for _, line := range []string{"Stateful address conf. : No", "Router lifetime : 0 (0x00000000) seconds"} {
		if !strings.Contains(got, line) {
			t.Errorf("after the change rdisc6 prints no %q:\n%s", line, got)
		}
	}
	if strings.Contains(got, "MTU") {
		t.Errorf("after the change rdisc6 prints:\n%s", got)
	}
}

// heard waits for an advertisement to all nodes and tells its flags and lifetimes: of the router, and of the first prefix.
func (w *wire) heard(want func(flags byte, router, valid, preferred uint32) bool) {
	w.s.t.Helper()
	w.exchange(nil, func(f []byte) bool {
		m, err := packet.ParseICMP6(f, false)
		if err != nil || m.Type != 134 || m.Dst != netip.MustParseAddr("ff02::1") {
			return false
		}
		router := uint32(m.Body[2])<<8 | uint32(m.Body[3])
		for o := m.Body[12:]; len(o) >= 8 && int(o[1])*8 <= len(o) && o[1] > 0; o = o[int(o[1])*8:] {
			if o[0] == 3 {
				number := func(b []byte) uint32 { return uint32(b[0])<<24 | uint32(b[1])<<16 | uint32(b[2])<<8 | uint32(b[3]) }
				return want(m.Body[1], router, number(o[4:]), number(o[8:]))
			}
		}
		return false
	})
}

func TestWhoIsThereHearsOfAChangeAndOfTheEnd(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	n := dual()
	index := s.serveDual(n)
	g := s.guest6(n.Bridge, "52:54:00:09:00:0f")
	w := g.wire()
	g.route("default")
	n.RA.Managed, n.RA.Prefixes[0].PreferredSeconds = false, 600
	s.set(n, index)
	w.heard(func(flags byte, router, valid, preferred uint32) bool {
		return flags&0x80 == 0 && router == 1800 && valid == 7200 && preferred == 600
	})
	if err := s.h.Remove(s.ctx, n.UUID); err != nil {
		t.Fatal(err)
	}
	w.heard(func(_ byte, router, _, preferred uint32) bool { return router == 0 && preferred == 0 })
	g.route("") // the guest's kernel has understood
}

// route waits until the guest has a default route as its kernel makes them, or none.
func (g *guest) route(want string) {
	g.s.t.Helper()
	for g.s.ctx.Err() == nil {
		if got := g.ns.Run("ip", "-6", "route", "show", "default", "proto", "ra"); strings.HasPrefix(got, want) && (want != "" || got == "") {
			return
		}
	}
	g.s.t.Fatalf("no route %q", want)
}

var spaces = regexp.MustCompile(`\s+`)

// sections is what dig shows of an answer, a line each, without times.
func (g *guest) sections(args ...string) string {
	g.s.t.Helper()
	out := g.ns.Run("dig", append([]string{"+time=5", "+tries=3", "+nocookie", "+noall", "+answer", "+authority", "+comments", "+nottlid"}, args...)...)
	var lines []string
	for line := range strings.Lines(out) {
		line = strings.TrimSpace(spaces.ReplaceAllString(line, " "))
		if _, status, ok := strings.Cut(line, "status: "); ok {
			lines = append(lines, strings.Split(status, ",")[0])
		}
		if line != "" && line[0] != ';' {
			lines = append(lines, line)
		}
	}
	return strings.Join(lines, "\n")
}

func TestDigIsAnsweredEveryTypeOfRecordFromBothFamilies(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	n := dual()
	n.DNS.CNAME = append(n.DNS.CNAME, cname("alias", "files"))
	s.serveDual(n)
	g := s.guest6(n.Bridge, "52:54:00:09:00:02") // which has a fixed name and address of IPv6
	g.udhcpc("-q", "-x", "hostname:alpha")
	g.want("deconfig")
	four := strings.TrimPrefix(g.hear(), "bound ")
	g.dhclient6("-1")
	six := g.bound6()
	g.route("default") // and with it one to the network
	const soa = "IN SOA nine.test. nobody.invalid. 1 3600 1200 604800 5"
	for ask, want := range map[string]string{
		"alpha.nine.test A":                      "NOERROR\nalpha.nine.test. IN A " + four,
		"alpha A":                                "NOERROR\nalpha. IN A " + four,
		"fixed.nine.test AAAA":                   "NOERROR\nfixed.nine.test. IN AAAA " + six,
		"files.nine.test AAAA":                   "NOERROR\nnine.test. " + soa,
		"-x " + four:                             "NOERROR\n" + reverse(four) + " IN PTR alpha.nine.test.",
		"-x " + six:                              "NOERROR\n" + reverse(six) + " IN PTR fixed.nine.test.",
		"-x 10.9.0.99":                           "NXDOMAIN\n",
		"_ldap._tcp.nine.test SRV":               "NOERROR\n_ldap._tcp.nine.test. IN SRV 1 2 389 files.nine.test.",
		"motd.nine.test TXT":                     "NOERROR\nmotd.nine.test. IN TXT \"hello\"",
		"alias.nine.test CNAME":                  "NOERROR\nalias.nine.test. IN CNAME files.nine.test.",
		"alias.nine.test A":                      "NOERROR\nalias.nine.test. IN CNAME files.nine.test.\nfiles.nine.test. IN A 10.9.0.200",
		"nine.test SOA":                          "NOERROR\nnine.test. " + soa,
		"nobody.nine.test A":                     "NXDOMAIN\nnine.test. " + soa,
		"alpha.nine.test ANY":                    "NOERROR\nalpha.nine.test. IN HINFO \"RFC8482\" \"\"",
		"+noedns ALPHA.nine.test A":              "NOERROR\nALPHA.nine.test. IN A " + four,
		"+bufsize=512 +dnssec alpha.nine.test A": "NOERROR\nalpha.nine.test. IN A " + four,
	} {
		for _, how := range []string{"@10.9.0.1 +notcp", "@10.9.0.1 +tcp", "@fd00:9::1 +notcp", "@fd00:9::1 +tcp"} {
			if got := g.sections(strings.Fields(how + " " + ask)...); got != strings.TrimSpace(want) && (want != "NXDOMAIN\n" || !strings.HasPrefix(got, want)) {
				t.Errorf("dig %s %s:\n%s\nwant\n%s", how, ask, got, want)
			}
		}
	}
}

func TestNamesAppearMoveAndVanishWithTheirLeases(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	n := dual()
	s.serveDual(n)
	w := s.guest(n.Bridge, "52:54:00:09:00:10")
	w.ns.Run("ip", "addr", "add", "10.9.0.77/24", "dev", "eth0")
	at := func(name string) string { return w.query("udp", "10.9.0.1", name+".nine.test.") }
	first, second := card{w.wire(), number(1)}, card{w.wire(), number(2)}
	if got := at("mover"); got != "NXDOMAIN" {
		t.Errorf("before there is such a client its name is at %s", got)
	}
	a := first.named("mover")
	if got := at("mover"); got != a.String() {
		t.Errorf("the client has %s, and its name is at %s", a, got)
	}
	first.tell4(dhcpv4.MessageTypeRelease, has(a), server(gateway4)) // it releases it
	s.wantEvents("add "+a.String(), "del "+a.String())
	if got := at("mover"); got != "NXDOMAIN" {
		t.Errorf("after the release its name is at %s", got)
	}
	b := second.named("mover")
	if got := at("mover"); got != b.String() || a == b {
		t.Errorf("another client has %s, and its name is at %s", b, got)
	}
	b2 := second.named("renamed")
	if got, old := at("renamed"), at("mover"); got != b2.String() || old != "NXDOMAIN" {
		t.Errorf("the renamed client has %s, its name is at %s, its old one at %s", b2, got, old)
	}
	got, err := s.h.Lookup(s.ctx, n.UUID, "renamed", "A")
	want := helper.Answer{Status: "NOERROR", Records: []string{fmt.Sprintf("renamed.\t0\tIN\tA\t%s", b2)}, Source: "network"}
	if err != nil || fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("the daemon is told %+v, %v, want %+v", got, err, want)
	}
}
