package netwhy

import (
	"context"
	"fmt"
	"net"
	"net/netip"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"taproom/internal/host"
	"taproom/internal/host/hosttest"
	"taproom/internal/host/nft"
	"taproom/internal/network/firewall"
	"taproom/internal/network/packet"
	"taproom/internal/network/why"
)

// around is a host with a network and a way out.
const around = `ip link add virbr0 type bridge
ip link set virbr0 address 52:54:00:00:00:01
ip link set virbr0 up
ip addr add 192.168.122.1/24 dev virbr0
ip link add out type veth peer name lan
ip link set lan up
ip link set out up
ip addr add 198.51.100.1/24 dev out
ip route add default via 198.51.100.2
sysctl -qw net.ipv4.ip_forward=1 net.ipv4.conf.all.rp_filter=0 net.ipv4.conf.default.rp_filter=0 net.ipv4.conf.virbr0.rp_filter=0
sysctl -qw net.bridge.bridge-nf-call-iptables=0 2>/dev/null || true
until ip link show out | grep -q LOWER_UP; do sleep 0.05; done
`

type rig struct {
	ns   *hosttest.NS
	look Looker
}

func newRig(t *testing.T) *rig {
	t.Helper()
	ns := hosttest.NewNS(t)
	ns.Keep("link virbr0", "link out", "link lan", "link docker0", "link br-0c9a", "link vpn", "link vpn1", "link ct*", "table *") // they go with the namespace
	ns.Shell(around)
	c, err := nft.Open(ns.Kernel())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	r := &rig{ns: ns, look: Looker{Kernel: ns.Kernel(), NFT: c, Table: "taproom", Name: "why-test"}}
	elements := []firewall.Element{
		{Set: "bridges", Key: "virbr0"}, {Set: "same", Key: "virbr0 . virbr0"}, {Set: "net24", Key: "virbr0 . 192.168.122.0"}, {Set: "nat24", Key: "192.168.122.0"},
	}
	if err := firewall.New(c, "taproom").Apply(t.Context(), elements, nil); err != nil {
		t.Fatal(err)
	}
	return r
}

func lab() Subject {
	return Subject{
		Object: "network 'lab'", Label: "taproom lab", Network: "lab", Mode: "nat", Subnets: []netip.Prefix{netip.MustParsePrefix("192.168.122.1/24")},
		Serves: true, Bridge: "virbr0",
	}
}

func (r *rig) judge(t *testing.T, s Subject, to To) (*why.Facts, *why.Report) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	f, err := r.look.Look(ctx, s, to)
	if err != nil {
		t.Fatal(err)
	}
	if f.BridgeUp && !f.Traced {
		t.Fatalf("no trace: %s", f.Untold)
	}
	return f, why.Judge(f)
}

func rules(t *testing.T, name string) string {
	t.Helper()
	b, err := os.ReadFile("testdata/" + name)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// restore loads a layout with one of the two kinds of iptables.
func restore(kind, name string) func(t *testing.T, r *rig) {
	return func(t *testing.T, r *rig) {
		r.ns.Shell("iptables-" + kind + "-restore <<'END'\n" + rules(t, name) + "END\n")
	}
}

func shell(script string) func(*testing.T, *rig) {
	return func(_ *testing.T, r *rig) { r.ns.Shell(script) }
}

type obstacle struct {
	name  string
	put   func(*testing.T, *rig)
	who   func(*Subject)
	to    To
	code  string
	whose string
	words string // in the verdict or the finding
	fix   string // how it begins; it is carried out where it is a command
	warns bool   // the packet arrives all the same
	stays bool   // the fix is not carried out: the program it needs is not here, or it is advice
}

func obstacles() []obstacle {
	addr := netip.MustParseAddr
	docker := func(s *Subject) {
		*s = Subject{Object: "guest 'web'", Bridge: "docker0", Subnets: []netip.Prefix{netip.MustParsePrefix("172.17.0.1/16")}}
	}
	dockers := `ip link add docker0 type bridge
ip link set docker0 address 52:54:00:00:00:02
ip link set docker0 up
ip addr add 172.17.0.1/16 dev docker0
ip link add br-0c9a type bridge
ip link set br-0c9a up
ip addr add 172.18.0.1/16 dev br-0c9a
ip link add ct1 master docker0 type veth peer name ct1p
ip link add ct2 master br-0c9a type veth peer name ct2p
for l in ct1 ct1p ct2 ct2p; do ip link set $l up; done
for l in docker0 br-0c9a; do until ip link show $l | grep -q LOWER_UP; do sleep 0.05; done; done
sysctl -qw net.ipv4.conf.docker0.rp_filter=0
`
	with := func(f ...func(*testing.T, *rig)) func(*testing.T, *rig) {
		return func(t *testing.T, r *rig) {
			for _, one := range f {
				one(t, r)
			}
		}
	}
	container := To{Addr: addr("172.17.0.2"), Port: 80}
	beyond := To{Addr: addr("172.18.0.2"), Port: 80}
	return []obstacle{
		{name: "policy of FORWARD", put: shell("iptables-nft -P FORWARD DROP"), code: why.CodeFiltered, whose: "rules of iptables", words: "policy of FORWARD", fix: "iptables-nft -w -I FORWARD -i virbr0 -j ACCEPT"},
		{name: "policy of FORWARD, old interface", put: shell("iptables-legacy -P FORWARD DROP"), code: why.CodeFiltered, whose: "rules of iptables-legacy", words: "policy of FORWARD", fix: "iptables-legacy -w -I FORWARD -i virbr0 -j ACCEPT"},
		{name: "Docker", put: restore("nft", "docker27.rules"), code: why.CodeFiltered, whose: why.Docker, words: "policy of FORWARD", fix: "iptables-nft -w -I DOCKER-USER -i virbr0 -j ACCEPT"},
		{name: "Docker, old interface", put: restore("legacy", "docker27.rules"), code: why.CodeFiltered, whose: why.Docker, words: "policy of FORWARD", fix: "iptables-legacy -w -I DOCKER-USER -i virbr0 -j ACCEPT"},
		{name: "Docker 28", put: restore("nft", "docker28.rules"), code: why.CodeFiltered, whose: why.Docker, words: "policy of FORWARD", fix: "iptables-nft -w -I DOCKER-USER -i virbr0 -j ACCEPT"},
		{name: "isolation of Docker's networks", put: with(shell(dockers), restore("nft", "docker27.rules")), who: docker, to: beyond, code: why.CodeFiltered, whose: why.Docker, words: "DOCKER-ISOLATION-STAGE-2", fix: "iptables-nft -w -I DOCKER-USER -i docker0"},
		{name: "isolation of Docker's networks, one stage", put: with(shell(dockers), restore("nft", "docker17.rules")), who: docker, to: beyond, code: why.CodeFiltered, whose: why.Docker, words: "DOCKER-ISOLATION)", fix: "iptables-nft -w -I DOCKER-USER -i docker0"},
		{name: "a container of Docker 28", put: with(shell(dockers), restore("nft", "docker28.rules")), to: container, code: why.CodeFiltered, whose: why.Docker, words: "chain PREROUTING", fix: "iptables-nft -w -t raw -I PREROUTING -i virbr0 -j ACCEPT", stays: true},
		{name: "ufw", put: restore("nft", "ufw.rules"), code: why.CodeFiltered, whose: why.UFW, words: "policy of FORWARD", fix: "ufw route allow in on virbr0", stays: true},
		{name: "ufw and DHCP", put: with(restore("nft", "ufw.rules"), shell("iptables-nft -P FORWARD ACCEPT")), code: why.CodeDHCPBlocked, whose: why.UFW, words: "DHCP", fix: "ufw allow in on virbr0 to any port 67 proto udp", warns: true, stays: true},
		{name: "firewalld", put: func(t *testing.T, r *rig) { r.ns.Shell("nft -f - <<'END'\n" + rules(t, "firewalld.nft") + "END\n") }, code: why.CodeFiltered, whose: why.Firewalld, words: "filter_FORWARD", fix: "firewall-cmd --permanent --zone=trusted --add-interface=virbr0", stays: true},
		{name: "somebody's table", put: shell("nft add table inet mine; nft 'add chain inet mine f { type filter hook forward priority 5; policy drop; }'"), code: why.CodeFiltered, whose: why.Unknown, words: "policy of f", fix: "nft insert rule inet mine f iifname virbr0 accept"},
		{name: "answers", put: shell("nft add table ip mine; nft 'add chain ip mine f { type filter hook forward priority 5; }'; nft add rule ip mine f oifname virbr0 drop"), code: why.CodeAnswers, whose: why.Unknown, words: "on the way back", fix: "nft insert rule ip mine f iifname virbr0 accept"},
		{name: "ip_forward", put: shell("sysctl -qw net.ipv4.ip_forward=0"), code: why.CodeForwarding, words: "net.ipv4.ip_forward is 0", fix: "sysctl -w net.ipv4.ip_forward=1"},
		{name: "forwarding of the bridge", put: shell("sysctl -qw net.ipv4.conf.virbr0.forwarding=0"), code: why.CodeForwarding, words: "conf.virbr0.forwarding is 0", fix: "sysctl -w net.ipv4.conf.virbr0.forwarding=1"},
		{name: "rp_filter", put: shell("sysctl -qw net.ipv4.conf.virbr0.rp_filter=1; ip route add 192.168.122.128/25 via 198.51.100.2"), code: why.CodeRPFilter, words: "forged", fix: "ip route get", stays: true},
		{name: "masquerade", put: shell("ip addr add 10.7.0.1/24 dev virbr0; nft add element ip taproom net24 '{ virbr0 . 10.7.0.0 }'"), who: func(s *Subject) { s.Mode = "route"; s.Subnets = []netip.Prefix{netip.MustParsePrefix("10.7.0.1/24")} }, code: why.CodeMasquerade, words: "10.7.0.254", fix: "give the network <forward mode='nat'/>", warns: true, stays: true},
		{name: "rules flushed", put: shell("nft flush ruleset"), code: why.CodeRulesGone, words: "rules are gone", fix: "virsh net-destroy lab", stays: true},
		{name: "no default route", put: shell("ip route del default"), code: why.CodeNoRoute, words: "no route to 192.0.2.1", fix: "ip route add default", stays: true},
		{name: "uplink", put: shell("ip link set lan down; while ip link show out | grep -q LOWER_UP; do sleep 0.05; done; ip route replace default via 198.51.100.2 dev out onlink"), code: why.CodeUplinkDown, words: "out, has no carrier", fix: "ip link set out up", stays: true},
		{name: "overlap", put: shell("ip link add vpn type veth peer name vpn1; ip link set vpn up; ip route add 192.168.122.0/25 dev vpn"), code: why.CodeOverlap, words: "behind vpn", fix: "give the network another subnet", warns: true, stays: true},
		{name: "bridge down", put: shell("ip link set virbr0 down"), code: why.CodeBridgeDown, words: "missing or down", fix: "virsh net-destroy lab", stays: true},
		{name: "isolated", put: shell("true"), who: func(s *Subject) { s.Mode = "isolated" }, code: why.CodeIsolated, words: "no <forward>", fix: "if they should reach the outside", stays: true},
		{name: "another network of ours", put: shell("nft add element ip taproom bridges '{ docker0 }'; " + dockers), to: container, code: why.CodeApart, whose: why.Ours, words: "guest of another network", fix: "put both guests on one network", stays: true},
		{
			name: "frames on the bridge", put: func(t *testing.T, r *rig) {
				if _, err := r.ns.Try("sysctl", "-qw", "net.bridge.bridge-nf-call-iptables=1"); err != nil {
					hosttest.Needs(t, &host.Missing{What: "br_netfilter", Config: "CONFIG_BRIDGE_NETFILTER", Err: err}, hosttest.Lift{Module: "br_netfilter"})
				}
				r.ns.Shell("iptables-nft -P FORWARD DROP")
			}, to: To{Addr: addr("192.168.122.7"), Port: 22}, code: why.CodeBridgeNF, words: "pass the host's IP rules", fix: "sysctl -w net.bridge.bridge-nf-call-iptables=0", stays: true,
		},
	}
}

func TestEachObstacleIsNamedWithItsOwnerAndTheFixHelps(t *testing.T) {
	t.Parallel()
	for _, o := range obstacles() {
		t.Run(o.name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t)
			s := lab()
			if o.who != nil {
				o.who(&s)
			}
			o.put(t, r)
			_, report := r.judge(t, s, o.to)
			i := slices.IndexFunc(report.Findings, func(f why.Finding) bool { return f.Code == o.code })
			if i < 0 {
				t.Fatalf("no finding %s in\n%s", o.code, text(report))
			}
			f := report.Findings[i]
			if o.whose != "" && f.Whose != o.whose || !strings.Contains(f.Words+f.Where, o.words) || !strings.HasPrefix(f.Fix, o.fix) || report.Arrives != o.warns || f.Lost == o.warns {
				t.Errorf("whose %q, words %q, fix %q, arrives %v; want %q, %q, %q, %v in\n%s", f.Whose, f.Words, f.Fix, report.Arrives, o.whose, o.words, o.fix, o.warns, text(report))
			}
			if o.stays || t.Failed() {
				return
			}
			r.ns.Shell(f.Fix)
			if _, after := r.judge(t, s, o.to); !after.Arrives {
				t.Errorf("after the fix, %s:\n%s", f.Fix, text(after))
			}
		})
	}
}

func TestNothingInTheWayIsSaidSo(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	f, report := r.judge(t, lab(), To{})
	if !report.Arrives || len(report.Findings) > 0 {
		t.Fatalf("on a host without obstacles:\n%s", text(report))
	}
	if !strings.Contains(text(report), "chain guests_out, rule 1 (iifname . ip saddr & 255.255.255.0 @net24 update @sent { iifname counter } accept) (taproom)") {
		t.Errorf("what let it pass is not named (hops %+v):\n%s", f.Hops, text(report))
	}
	for _, what := range [][]string{{"nft", "list", "tables", "netdev"}, {"ip", "-o", "link", "show", "type", "tun"}} {
		if left := r.ns.Run(what[0], what[1:]...); left != "" {
			t.Errorf("the probe left %s", left)
		}
	}
}

// text is a report for people.
func text(r *why.Report) string {
	var b strings.Builder
	fmt.Fprintln(&b, r.Verdict)
	for _, p := range r.Passed {
		fmt.Fprintf(&b, "passed   %s\n", p)
	}
	for _, f := range r.Findings {
		level := "warning"
		if f.Lost {
			level = "lost"
		}
		fmt.Fprintf(&b, "%-8s %s: %s\n", level, f.Code, f.Words)
		for _, line := range [][2]string{{"where", f.Where}, {"whose", f.Whose}, {"fix", f.Fix}} {
			if line[1] != "" {
				fmt.Fprintf(&b, "         %s: %s\n", line[0], line[1])
			}
		}
	}
	return b.String()
}

func TestIPv6IsFollowedAsWell(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.ns.Shell(`ip addr add fd00:122::1/64 dev virbr0 nodad
ip addr add 2001:db8:51::1/64 dev out nodad
ip route add default via 2001:db8:51::2
sysctl -qw net.ipv6.conf.all.forwarding=1`)
	elements := []firewall.Element{
		{Set: "ip6/bridges", Key: "virbr0"}, {Set: "ip6/same", Key: "virbr0 . virbr0"}, {Set: "ip6/net64", Key: "virbr0 . fd00:122::"}, {Set: "ip6/nat64", Key: "fd00:122::"},
	}
	if err := firewall.New(r.look.NFT, "taproom").Apply(t.Context(), elements, nil); err != nil {
		t.Fatal(err)
	}
	s := lab()
	s.Subnets = []netip.Prefix{netip.MustParsePrefix("fd00:122::1/64")}
	if f, report := r.judge(t, s, To{}); !report.Arrives || len(report.Findings) > 0 || len(report.Passed) == 0 {
		t.Fatalf("met %+v:\n%s", f.Hops, text(report))
	}
	r.ns.Shell("ip6tables-nft -P FORWARD DROP")
	_, report := r.judge(t, s, To{Addr: netip.MustParseAddr("2001:db8:99::7")})
	if report.Arrives || report.Findings[0].Code != why.CodeFiltered || !strings.HasPrefix(report.Findings[0].Fix, "ip6tables-nft -w -I FORWARD -i virbr0") {
		t.Errorf("an echo, with ip6tables:\n%s", text(report))
	}
	r.ns.Shell("sysctl -qw net.ipv6.conf.all.forwarding=0")
	if _, report = r.judge(t, s, To{}); report.Findings[0].Code != why.CodeForwarding || report.Findings[0].Fix != "sysctl -w net.ipv6.conf.all.forwarding=1" {
		t.Errorf("without forwarding:\n%s", text(report))
	}
}

// A glance sends nothing and runs no program, and sees what rules lose for sure.
func TestAGlanceSeesDockerAndUFW(t *testing.T) {
	t.Parallel()
	for file, want := range map[string][]string{
		"docker27.rules": {why.CodeFiltered}, "docker28.rules": {why.CodeFiltered}, "docker17.rules": {why.CodeFiltered},
		"ufw.rules": {why.CodeDHCPBlocked, why.CodeDNSBlocked, why.CodeFiltered}, "": nil,
	} {
		t.Run(file, func(t *testing.T) {
			t.Parallel()
			r := newRig(t)
			if file != "" {
				restore("nft", file)(t, r)
			}
			f, err := r.look.Others().Glance(t.Context(), lab())
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, x := range why.Glance(f) {
				got = append(got, x.Code)
			}
			if !slices.Equal(got, want) {
				t.Errorf("got %q, want %q", got, want)
			}
		})
	}
}

// The guest is this process, which has the tap open.
func TestAKernelWithoutNFTablesHasNoRulesToSee(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.look.NFT = nil
	if f, err := r.look.Others().Glance(t.Context(), lab()); err != nil || len(why.Glance(f)) > 0 {
		t.Errorf("a glance sees %+v, %v", f, err)
	}
	f, err := r.look.Look(t.Context(), lab(), To{})
	if err != nil || len(f.Tables) > 0 {
		t.Errorf("a look sees %+v, %v", f, err)
	}
}

func TestAGuestsProbeGoesInByItsOwnTap(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	k := r.ns.Kernel()
	tap, err := k.CreateTap(host.TapSpec{Name: "vnet0", VNetHdr: true})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = tap.Close() }()
	self, err := k.OpenPID(os.Getpid(), 0)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = self.Close() }()
	s := lab()
	s.Object, s.Guest = "guest 'web'", &Guest{Tap: "vnet0", MAC: packet.MAC{0x52, 0x54, 0, 0, 0, 9}, QEMU: self}
	f, err := r.look.Look(t.Context(), s, To{})
	if err != nil {
		t.Fatal(err)
	}
	report := why.Judge(f)
	if report.Arrives || report.Findings[0].Code != why.CodeUnplugged || report.Findings[1].Code != why.CodeNoLease {
		t.Errorf("unplugged:\n%s", text(report))
	}
	r.ns.Shell("ip link set vnet0 master virbr0 up; ip neigh add 192.168.122.77 lladdr 52:54:00:00:00:09 dev virbr0")
	f, report = r.judge(t, s, To{})
	if !report.Arrives || f.SourceFrom != "neighbour" || f.Source.String() != "192.168.122.77" || len(report.Findings) > 0 {
		t.Errorf("source %s from %s:\n%s", f.Source, f.SourceFrom, text(report))
	}
	s.Guest.Leased = []netip.Addr{netip.MustParseAddr("192.168.122.50")}
	if f, _ = r.judge(t, s, To{}); f.SourceFrom != "lease" || !f.Source.IsValid() || len(f.Hops) == 0 {
		t.Errorf("with a lease: %s from %s, met %v", f.Source, f.SourceFrom, f.Hops)
	}
}

func TestAForeignServerOnPort53IsNamed(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	var c net.PacketConn
	var err error
	r.ns.Do(func() { c, err = net.ListenPacket("udp4", "192.168.122.1:53") })
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = c.Close() }()
	_, report := r.judge(t, lab(), To{})
	if len(report.Findings) != 1 || report.Findings[0].Code != why.CodeDNSPort || !strings.Contains(report.Findings[0].Words, "port 53 is taken by netwhy.test (process ") {
		t.Errorf("got\n%s", text(report))
	}
}
