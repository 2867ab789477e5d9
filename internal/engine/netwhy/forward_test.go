package netwhy

import (
	"net/netip"
	"slices"
	"strings"
	"testing"

	"taproom/internal/network/firewall"
	"taproom/internal/network/why"
)

// forwarding makes port 8080 of every address of the host lead to a guest of a second network.
func (r *rig) forwarding(t *testing.T) To {
	t.Helper()
	r.ns.Keep("link virbr1", "link web", "link web1")
	r.ns.Shell(`ip link add virbr1 type bridge
ip link set virbr1 up
ip addr add 192.168.123.1/24 dev virbr1
ip link add web type veth peer name web1
ip link set web master virbr1 up
ip link set web1 up
timeout 60 sh -c 'until ip link show virbr1 | grep -q LOWER_UP; do sleep 0.05; done'`)
	guest := netip.MustParseAddr("192.168.123.10")
	elements := append(firewall.ForwardPort("tcp", netip.AddrPortFrom(netip.Addr{}, 8080), "virbr1", netip.AddrPortFrom(guest, 80)),
		firewall.Element{Set: "bridges", Key: "virbr1"}, firewall.Element{Set: "same", Key: "virbr1 . virbr1"},
		firewall.Element{Set: "net24", Key: "virbr1 . 192.168.123.0"}, firewall.Element{Set: "nat24", Key: "192.168.123.0"})
	if err := firewall.New(r.look.NFT, "taproom").Apply(t.Context(), elements, nil); err != nil {
		t.Fatal(err)
	}
	forward := why.Forward{Network: "other", At: "tcp 8080-8089", To: "'web'", Port: 8080, End: 8089, ToPort: 80, Live: []netip.Addr{guest}}
	return To{Addr: netip.MustParseAddr("198.51.100.1"), Port: 8080, Forwards: []why.Forward{forward}}
}

// A port of the host that leads to a guest is named, and what keeps packets from the guest is found behind it.
func TestAPortThatLeadsToAGuestIsNamed(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	to := r.forwarding(t)
	code := func(report *why.Report, want string) why.Finding {
		t.Helper()
		i := slices.IndexFunc(report.Findings, func(f why.Finding) bool { return f.Code == want })
		if i < 0 {
			t.Fatalf("no finding %s in\n%s", want, text(report))
		}
		return report.Findings[i]
	}
	_, report := r.judge(t, lab(), to)
	said := text(report)
	for _, want := range []string{
		"network 'lab' reaches 198.51.100.1 port 8080, where network 'other' has tcp 8080-8089 lead to 'web' (192.168.123.10 port 80)",
		"passed   tcp 8080-8089 of this host leads to 'web', 192.168.123.10 port 80 of network 'other' (taproom)",
		"chain guests_dnat,", "chain guests_out,",
	} {
		if !strings.Contains(said, want) {
			t.Errorf("no %q in\n%s", want, said)
		}
	}
	if !report.Arrives || len(report.Findings) > 0 {
		t.Errorf("nothing is in the way:\n%s", said)
	}
	// The port beside it, of which the firewall knows nothing, is the document's.
	beside := to
	beside.Forwards = []why.Forward{to.Forwards[0]}
	beside.Forwards[0].Live, beside.Forwards[0].Why = nil, "guest 'web' does not run"
	if _, report = r.judge(t, lab(), beside); !report.Arrives || !strings.Contains(code(report, why.CodeForward).Words, "it leads nowhere, so the host itself is asked: guest 'web' does not run") {
		t.Errorf("nowhere:\n%s", text(report))
	}
	loopback := to
	loopback.Addr = netip.MustParseAddr("127.0.0.1")
	f, err := r.look.Look(t.Context(), lab(), loopback)
	if err != nil {
		t.Fatal(err)
	}
	if report = why.Judge(f); report.Arrives || !strings.Contains(report.Verdict, "taproom's proxy carries tcp 8080-8089 to 'web' of network 'other'") || f.Traced {
		t.Errorf("the loopback:\n%s", text(report))
	}
	// The network of who asks has one link as its way out.
	bound := []firewall.Element{{Set: "net24", Key: "virbr0 . 192.168.122.0"}}
	if err := firewall.New(r.look.NFT, "taproom").Apply(t.Context(), []firewall.Element{{Set: "devnet24", Key: "virbr0 . 192.168.122.0 . out"}}, bound); err != nil {
		t.Fatal(err)
	}
	if _, report = r.judge(t, lab(), to); report.Arrives || !strings.Contains(code(report, why.CodeApart).Words, "tcp 8080-8089 leads to 192.168.123.10 of network 'other', and guests of this one do not get there") {
		t.Errorf("who gets out by one link:\n%s", text(report))
	}
	if err := firewall.New(r.look.NFT, "taproom").Apply(t.Context(), bound, nil); err != nil {
		t.Fatal(err)
	}
	// What is between the host and the guest: it is no matter of what the host itself takes.
	r.ns.Shell("iptables-nft -P INPUT DROP; iptables-nft -A INPUT -i virbr0 -p udp -j ACCEPT")
	if _, report = r.judge(t, lab(), to); !report.Arrives {
		t.Errorf("the host takes nothing itself:\n%s", text(report))
	}
	r.ns.Shell("iptables-nft -P FORWARD DROP")
	_, report = r.judge(t, lab(), to)
	lost := code(report, why.CodeFiltered)
	if !lost.Lost || !strings.Contains(lost.Words, "policy of FORWARD") {
		t.Errorf("not forwarded:\n%s", text(report))
	}
	r.ns.Shell(lost.Fix)
	if _, report = r.judge(t, lab(), to); !report.Arrives {
		t.Errorf("after the fix, %s:\n%s", lost.Fix, text(report))
	}
	r.ns.Shell("nft delete table ip taproom")
	if _, report = r.judge(t, lab(), to); report.Arrives || !strings.Contains(code(report, why.CodeRulesGone).Words, "tcp 8080-8089 leads to no guest") {
		t.Errorf("without rules:\n%s", text(report))
	}
}
