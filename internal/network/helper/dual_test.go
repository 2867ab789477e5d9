package helper_test

import (
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"taproom/internal/network/dhcp4"
	"taproom/internal/network/dhcp6"
	"taproom/internal/network/dns"
	"taproom/internal/network/helper"
	"taproom/internal/network/packet"
	"taproom/internal/network/ra"
	"taproom/internal/spec"
)

// bridgeMAC is that of the bridge of dual.
var bridgeMAC = packet.MAC{0x52, 0x54, 0, 0x99, 0, 1}

// dual is a network with everything: both families, advertisements and names.
func dual() helper.Network {
	addr := netip.MustParseAddr
	six := netip.MustParsePrefix("fd00:9::/64")
	return helper.Network{
		UUID: spec.UUID{9}, Bridge: "virbr9", LinkLocal: bridgeMAC.LinkLocal(),
		DHCP4: &dhcp4.Config{
			Subnets: []dhcp4.Subnet{{Server: addr("10.9.0.1"), Prefix: netip.MustParsePrefix("10.9.0.0/24"), Gateway: addr("10.9.0.1")}},
			Ranges:  []dhcp4.Range{{Start: addr("10.9.0.10"), End: addr("10.9.0.19")}},
			DNS:     []netip.Addr{addr("10.9.0.1")}, Domain: "nine.test", Authoritative: true,
		},
		DHCP6: &dhcp6.Config{
			DUID: []byte{0, 4, 9, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0}, Prefixes: []netip.Prefix{six},
			Ranges: []dhcp6.Range{{Start: addr("fd00:9::1000"), End: addr("fd00:9::1fff")}},
			Hosts:  []dhcp6.Host{{MAC: "52:54:00:09:00:02", Name: "fixed", IP: addr("fd00:9::2")}},
			DNS:    []netip.Addr{addr("fd00:9::1")}, Search: []string{"nine.test"}, Authoritative: true,
		},
		RA: &ra.Config{
			Prefixes: []ra.Prefix{{Prefix: six, OnLink: true, Autonomous: true, ValidSeconds: 7200, PreferredSeconds: 3600}},
			Managed:  true, Other: true, RouterSeconds: 1800, MTU: 1400, RDNSS: []netip.Addr{addr("fd00:9::1")}, Search: []string{"nine.test"},
		},
		DNS: &dns.Config{
			Domain: "nine.test", LocalOnly: true, Addresses: []netip.Addr{addr("10.9.0.1"), addr("fd00:9::1")},
			Hosts:    []dns.Host{{IP: addr("10.9.0.200"), Names: []string{"files"}}},
			SRV:      []dns.SRV{{Service: "ldap", Protocol: "tcp", Target: "files.nine.test", Port: 389, Priority: 1, Weight: 2}},
			TXT:      []dns.TXT{{Name: "motd", Values: []string{"hello"}}},
			NoResolv: true, LocalPTR: []netip.Prefix{netip.MustParsePrefix("10.9.0.0/24"), six},
		},
	}
}

// serveDual makes a bridge as an engine does and has dual served on it.
func (s *site) serveDual(n helper.Network) int {
	s.t.Helper()
	s.host.Run("ip", "link", "add", "name", n.Bridge, "address", bridgeMAC.String(), "type", "bridge")
	s.host.Keep("link " + n.Bridge)
	s.host.Run("ip", "addr", "add", "10.9.0.1/24", "dev", n.Bridge)
	s.host.Run("ip", "addr", "add", "fd00:9::1/64", "dev", n.Bridge, "nodad")
	s.host.Run("ip", "link", "set", "dev", n.Bridge, "up")
	l, err := s.host.Kernel().LinkByName(n.Bridge)
	if err != nil {
		s.t.Fatal(err)
	}
	s.set(n, l.Index)
	return l.Index
}

// dig asks one of the network's addresses and returns the answers, sorted as they came.
func (g *guest) dig(args ...string) string {
	g.s.t.Helper()
	return strings.TrimSpace(g.ns.Run("dig", append([]string{"+time=5", "+tries=2", "+noall", "+answer", "+nottlid", "+nocl"}, args...)...))
}

func TestAGuestGetsAddressesOfBothFamiliesARouteAndAName(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.serveDual(dual())
	g := s.guest6("virbr9", "52:54:00:09:00:02")
	g.udhcpc("-x", "hostname:alpha")
	g.want("deconfig")
	if got := g.hear(); !strings.HasPrefix(got, "bound 10.9.0.1") {
		t.Fatalf("the client said %q", got)
	}
	s.wantEvents("add " + s.lease4())
	g.write("dhclient6-script", `case $reason in BOUND6|RENEW6|REBIND6) echo "$reason $new_ip6_address $new_dhcp6_name_servers $new_dhcp6_domain_search" >`+filepath.Join(g.dir, "said")+`;; esac`)
	_, stop := g.start("dhclient", "-6", "-d", "-q", "-lf", filepath.Join(g.dir, "leases6"), "-pf", filepath.Join(g.dir, "pid6"),
		"-cf", "/dev/null", "-sf", filepath.Join(g.dir, "dhclient6-script"), "eth0")
	g.want("BOUND6 fd00:9::2 fd00:9::1 nine.test.")
	stop()

	g.ns.Run("bash", "-c", "exec 3< <(exec ip -6 monitor route); m=$!; ip -6 route show default | grep -q . || grep -q -m1 ^default <&3; kill $m")
	route := g.ns.Run("ip", "-6", "route", "show", "default")
	if !strings.Contains(route, "via "+bridgeMAC.LinkLocal().String()) || !strings.Contains(route, "mtu 1400") {
		t.Errorf("the guest's route is %q", route)
	}
	if got := g.ns.Run("ip", "-6", "-o", "addr", "show", "dev", "eth0", "scope", "global"); !strings.Contains(got, "fd00:9::5054:ff:fe09:2/64") {
		t.Errorf("the guest made itself %q", got)
	}
	for _, c := range []struct{ ask, want string }{
		{"@10.9.0.1 alpha.nine.test A", "alpha.nine.test. A " + s.lease4()},
		{"@10.9.0.1 fixed.nine.test AAAA", "fixed.nine.test. AAAA fd00:9::2"},
		{"@10.9.0.1 +tcp -x fd00:9::2", "PTR fixed.nine.test."},
		{"@10.9.0.1 _ldap._tcp.nine.test SRV", "SRV 1 2 389 files.nine.test."},
		{"@10.9.0.1 motd.nine.test TXT", `TXT "hello"`},
		{"@10.9.0.1 nobody.nine.test A", ""},
	} {
		got := strings.Join(strings.Fields(g.dig(strings.Fields(c.ask)...)), " ")
		if !strings.HasSuffix(got, c.want) || c.want == "" && got != "" {
			t.Errorf("dig %s: %q, want %q", c.ask, got, c.want)
		}
	}
}

// lease4 is the only IPv4 address that is given out.
func (s *site) lease4() string {
	s.t.Helper()
	for _, l := range strings.Split(s.leases(dual().UUID), "\n") {
		if a, _, _ := strings.Cut(l, " "); strings.HasPrefix(a, "10.9.0.") {
			return a
		}
	}
	return "none"
}

func TestAFolderOfTheHostIsReadOverTFTPAndNothingAboveIt(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	root := t.TempDir()
	boot := filepath.Join(root, "boot")
	for path, text := range map[string]string{filepath.Join(root, "secret"): "no", filepath.Join(boot, "pxelinux.0"): strings.Repeat("kernel", 5000)} {
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	n := dual()
	n.TFTP = &helper.TFTP{Root: boot, Addresses: []netip.Addr{netip.MustParseAddr("10.9.0.1")}}
	index := s.serveDual(n)
	g := s.guest6("virbr9", "52:54:00:09:00:04")
	g.ns.Run("ip", "addr", "add", "10.9.0.77/24", "dev", "eth0")
	get := func(name string) (string, error) {
		to := filepath.Join(g.dir, "got")
		if out, err := g.ns.Try("busybox", "tftp", "-g", "-b", "1400", "-r", name, "-l", to, "10.9.0.1"); err != nil {
			return out, err
		}
		b, err := os.ReadFile(to)
		return string(b), err
	}
	for _, name := range []string{"pxelinux.0", "/pxelinux.0", filepath.Join(boot, "pxelinux.0")} {
		if got, err := get(name); err != nil || got != strings.Repeat("kernel", 5000) {
			t.Errorf("%s: %d bytes, %v", name, len(got), err)
		}
	}
	for _, name := range []string{"../secret", "/../secret", filepath.Join(root, "secret"), "/etc/passwd"} {
		if got, err := get(name); err == nil {
			t.Errorf("%s gave %d bytes", name, len(got))
		}
	}
	n.TFTP = nil
	s.set(n, index)
	if out, err := g.ns.Try("timeout", "1", "busybox", "tftp", "-g", "-r", "pxelinux.0", "-l", filepath.Join(g.dir, "late"), "10.9.0.1"); err == nil {
		t.Errorf("a network without TFTP sends files: %s", out)
	}
}
