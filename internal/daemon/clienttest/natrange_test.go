package clienttest

import (
	"regexp"
	"strings"
	"testing"
)

// rangedNetwork is natNetwork with what its guests look like to the outside.
func rangedNetwork(nat string) string {
	return strings.Replace(natNetwork, "<forward mode='nat'/>", "<forward mode='nat'><nat>"+nat+"</nat></forward>", 1)
}

// The addresses and ports of <nat> are in the firewall, in either back end; a changed document is in force at once.
func TestGuestsLookLikeTheAddressesAndPortsOfNAT(t *testing.T) {
	t.Parallel()
	const (
		one   = "<address start='192.0.2.1' end='192.0.2.9'/><port start='20000' end='29999'/>"
		other = "<address start='192.0.2.8' end='192.0.2.15'/>"
		ports = "<port start='2000' end='3000'/>"
	)
	for word, want := range map[string]struct{ show, one, other, ports string }{
		"nftables": {
			"nft list ruleset", `192\.168\.77\.0 : 192\.0\.2\.1-192\.0\.2\.9 \. 20000-29999 `, `192\.168\.77\.0 : 192\.0\.2\.8/29 \. 1024-65535 `,
			`@ports24_2000_3000 masquerade to :2000-3000`,
		},
		"iptables": {
			"iptables-save", `-s 192\.168\.77\.0/24 -p tcp -j SNAT --to-source 192\.0\.2\.1-192\.0\.2\.9:20000-29999`,
			`-s 192\.168\.77\.0/24 -p udp -j SNAT --to-source 192\.0\.2\.8-192\.0\.2\.15:1024-65535`,
			`-s 192\.168\.77\.0/24 -p tcp -j MASQUERADE --to-ports 2000-3000`,
		},
	} {
		t.Run(word, func(t *testing.T) {
			t.Parallel()
			c := serve(t)
			c.settings("firewall_backend = '" + word + "'\n")
			c.daemon.NS.Keep("table ip filter", "table ip nat", "table ip6 filter", "table ip6 nat") // iptables never removes a table
			c.restart("stop")
			for _, step := range []struct{ doc, there, gone string }{{one, want.one, want.other}, {other, want.other, want.one}, {ports, want.ports, want.other}} {
				if out, code := c.run(c.taproom("up", c.write("lab.xml", rangedNetwork(step.doc)))); code != 0 {
					t.Fatalf("%s: %s", step.doc, out)
				}
				rules := c.daemon.NS.Run("sh", "-c", want.show)
				if !regexp.MustCompile(step.there).MatchString(rules) || regexp.MustCompile(step.gone).MatchString(rules) {
					t.Errorf("%s: want %s and not %s in\n%s", step.doc, step.there, step.gone, rules)
				}
			}
			if xml := c.do("net-dumpxml", "lab"); !strings.Contains(xml, "<port start='2000' end='3000'/>") {
				t.Errorf("the document:\n%s", xml)
			}
			c.do("net-destroy", "lab")
		})
	}
}
