package why

import (
	"net/netip"
	"strings"
	"testing"
)

// filter is a table with these rules after a FORWARD chain of policy drop.
func filter(t *testing.T, lines string) *Table {
	t.Helper()
	var b strings.Builder
	b.WriteString("*filter\n:FORWARD DROP [0:0]\n:A - [0:0]\n:B - [0:0]\n")
	for line := range strings.SplitSeq(lines, "\n") {
		if line != "" {
			b.WriteString("-A " + line + "\n")
		}
	}
	tables, err := ParseSave(ToolNew, "ip", b.String()+"COMMIT\n")
	if err != nil {
		t.Fatal(err)
	}
	return &tables[0]
}

func TestWalkPredictsAndKnowsWhenItCannot(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		rules, verdict string
		sure           bool
		chain          string
		rule           int
	}{
		{"", "drop", true, "FORWARD", -1},
		{"FORWARD -i virbr0 -j ACCEPT", "accept", true, "FORWARD", 0},
		{"FORWARD -i virbr+ -p tcp -m tcp --dport 80,443 -j ACCEPT", "accept", true, "FORWARD", 0},
		{"FORWARD ! -i virbr0 -j ACCEPT", "drop", true, "FORWARD", -1},
		{"FORWARD -s 192.168.122.0/255.255.255.0 -d 192.0.2.0/24 -j REJECT --reject-with icmp-port-unreachable", "drop", true, "FORWARD", 0},
		{"FORWARD -s 10.0.0.0/8 -j ACCEPT\nFORWARD -m conntrack --ctstate RELATED,ESTABLISHED -j ACCEPT", "drop", true, "FORWARD", -1},
		{"FORWARD -m conntrack --ctstate NEW -j A\nA -p udp -j DROP\nA -j ACCEPT", "accept", true, "A", 1},
		{"FORWARD -j A\nA -i virbr0 -j RETURN\nA -j ACCEPT\nFORWARD -j DROP", "drop", true, "FORWARD", 1},
		{"FORWARD -g A\nA -p udp -j ACCEPT\nFORWARD -j ACCEPT", "drop", true, "FORWARD", -1},
		{"FORWARD -m limit --limit 3/min -j LOG --log-prefix \"a \\\"quoted\\\" -j ACCEPT\"\nFORWARD -j ACCEPT", "accept", true, "FORWARD", 1},
		{"FORWARD -m limit --limit 3/min -j ACCEPT", "drop", false, "FORWARD", -1},
		{"FORWARD -m limit --limit 3/min -j DROP", "drop", true, "FORWARD", -1},
		{"FORWARD -j A\nA -m limit --limit 3/min -j RETURN\nA -j ACCEPT", "accept", false, "A", 1},
		{"FORWARD -j A\nA -m limit --limit 3/min -j RETURN\nA -p udp -j ACCEPT", "drop", true, "FORWARD", -1},
		{"FORWARD -m mark --mark 0x1 -j A\nA -j ACCEPT", "drop", false, "FORWARD", -1},
		{"FORWARD -j NFQUEUE --queue-num 0", "drop", false, "FORWARD", -1},
		{"FORWARD -j A\nA -j B\nB -j A", "drop", false, "FORWARD", -1},
	} {
		way := filter(t, c.rules).Walk("FORWARD", forwarded())
		if way.Verdict != c.verdict || way.Sure != c.sure || way.At.Chain != c.chain || way.At.Rule != c.rule {
			t.Errorf("%q: %s sure %v at %s %d, want %s %v %s %d", c.rules, way.Verdict, way.Sure, way.At.Chain, way.At.Rule, c.verdict, c.sure, c.chain, c.rule)
		}
	}
}

func TestTheOwnerOfAPlaceIsTold(t *testing.T) {
	t.Parallel()
	docker := filter(t, "FORWARD -j A")
	docker.Chains = append(docker.Chains, Chain{Name: "DOCKER-USER"})
	both := filter(t, "")
	both.Chains = append(both.Chains, Chain{Name: "DOCKER-USER"}, Chain{Name: "ufw-before-forward"})
	for want, at := range map[string]Place{
		Docker:                     {Table: docker, Chain: "FORWARD", Rule: -1},
		UFW:                        {Table: both, Chain: "FORWARD", Rule: -1},
		Ours:                       {Table: filter(t, ""), Chain: "taproom-in", Rule: 0},
		Libvirt:                    {Table: filter(t, ""), Chain: "LIBVIRT_FWI", Rule: 0},
		Kubernetes:                 {Table: filter(t, ""), Chain: "KUBE-FORWARD", Rule: 0},
		Fail2ban:                   {Table: filter(t, ""), Chain: "f2b-sshd", Rule: 0},
		Firewalld:                  {Table: &Table{Tool: ToolNFT, Family: "inet", Name: "firewalld"}, Chain: "filter_FORWARD", Rule: 3},
		Unknown:                    {Table: &Table{Tool: ToolNFT, Family: "inet", Name: "mine"}, Chain: "f", Rule: 3},
		"rules of iptables":        {Table: filter(t, "FORWARD -j DROP"), Chain: "FORWARD", Rule: 0},
		"rules of iptables-legacy": {Table: &Table{Tool: ToolLegacy, Family: "ip", Name: "filter"}, Chain: "FORWARD", Rule: -1},
	} {
		if got := Whose(at, "taproom"); got != want {
			t.Errorf("%s is of %q, want %q", at.Where(), got, want)
		}
	}
}

func TestRepairsAreTakenBackByTheSameWords(t *testing.T) {
	t.Parallel()
	table := filter(t, "")
	table.Chains = append(table.Chains, Chain{Name: "DOCKER-USER"})
	plain, r := remedy(Place{Table: table, Chain: "FORWARD", Rule: -1}, "forward", "virbr0", "taproom it's")
	if want := "iptables-nft -w -I DOCKER-USER -i virbr0 -j ACCEPT && iptables-nft -w -I DOCKER-USER -o virbr0 -m conntrack --ctstate RELATED,ESTABLISHED -j ACCEPT"; plain != want {
		t.Errorf("got  %s\nwant %s", plain, want)
	}
	if want := `iptables-nft -w -I DOCKER-USER -i virbr0 -m comment --comment 'taproom it'\''s' -j ACCEPT`; !strings.HasPrefix(r.String(), want) {
		t.Errorf("got  %s\nwant %s", r, want)
	}
	for i := range r.Do {
		if do, undo := strings.Join(r.Do[i], " "), strings.Join(r.Undo[i], " "); strings.Replace(do, " -I ", " -D ", 1) != undo {
			t.Errorf("%s is taken back by %s", do, undo)
		}
	}
	ufw := filter(t, "")
	ufw.Chains = append(ufw.Chains, Chain{Name: "ufw-before-forward"})
	if plain, r = remedy(Place{Table: ufw, Chain: "FORWARD", Rule: -1}, "forward", "virbr0", "x"); plain != "ufw route allow in on virbr0" || commands(r.Undo) != "ufw route delete allow in on virbr0" {
		t.Errorf("ufw: %s, %s", plain, commands(r.Undo))
	}
}

// What another network of ours or the host's own settings do is in the tests of package netwhy, with a real kernel.
func TestABridgesFramesAreLostByRulesOfIP(t *testing.T) {
	t.Parallel()
	f := &Facts{
		Object: "guest 'a'", Bridge: "virbr0", BridgeUp: true, Subnets: []netip.Prefix{netip.MustParsePrefix("192.168.122.1/24")}, BridgeNF: true,
		Source: netip.MustParseAddr("192.168.122.7"), To: netip.MustParseAddr("192.168.122.8"), Port: 22, Proto: "tcp", Tables: []Table{*filter(t, "")},
	}
	r := Judge(f)
	if len(r.Findings) != 1 || r.Findings[0].Code != CodeBridgeNF || r.Arrives {
		t.Errorf("got %+v", r)
	}
	f.BridgeNF = false
	if r := Judge(f); !r.Arrives {
		t.Errorf("without br_netfilter: %+v", r)
	}
}

func FuzzParseSave(f *testing.F) {
	for _, s := range []string{
		"*filter\n:FORWARD DROP [1:2]\n:X - [0:0]\n[3:4] -A FORWARD ! -i a -m comment --comment \"b \\\" c\" -j X\n-A X -g X\nCOMMIT\n",
		"-A X", "*a\n:B", "*a\n:B -\n-A B -s 1.2.3.4/255.0.0.0 --dport 1:2 -j DNAT", "*a\n:B -\n-A B !", "*a\n:B -\n-A B -m x \"",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		tables, err := ParseSave(ToolLegacy, "ip", s)
		if err != nil {
			return
		}
		for i := range tables {
			for _, c := range tables[i].Chains {
				way := tables[i].Walk(c.Name, forwarded())
				_ = way.At.Where() + Whose(way.At, "taproom")
			}
		}
	})
}
