package healtest

import (
	"strings"
	"testing"
	"time"
)

// damage is what somebody does, and what it leaves.
type damage struct {
	name, does string // TABLE is the daemon's
	replug     bool   // the guest's link has to be plugged in again, by whoever made it
}

func rulesDamages() []damage {
	return []damage{
		{name: "all rules", does: "nft flush ruleset"},
		{name: "a table", does: "nft delete table ip TABLE"},
		{name: "the rules of a table", does: "nft flush table ip6 TABLE"},
		{name: "a chain", does: "nft flush chain ip TABLE postrouting; nft delete chain ip TABLE postrouting"},
		{name: "a rule", does: "nft delete rule ip TABLE forward handle $(nft -a list chain ip TABLE forward | sed -n 's/.*guests_out # handle //p')"},
		{name: "a rule more", does: "nft insert rule ip TABLE forward drop"},
		{name: "an element", does: "nft delete element ip6 TABLE bridges '{ virbr-one }'"},
		{name: "a set", does: "nft flush set ip TABLE net24"},
		{name: "an element more", does: "nft add element ip TABLE bridges '{ up0 }'"},
	}
}

func hostDamages() []damage {
	return []damage{
		{name: "forwarding", does: "echo 0 > /proc/sys/net/ipv4/ip_forward"},
		{name: "forwarding of IPv6", does: "echo 0 > /proc/sys/net/ipv6/conf/all/forwarding"},
		{name: "a bridge", does: "ip link delete virbr-one", replug: true},
		{name: "an address", does: "ip addr del 192.168.150.1/24 dev virbr-one"},
		{name: "an address of IPv6", does: "ip addr flush dev virbr-one scope global"},
		{name: "down", does: "ip link set virbr-one down"},
		{name: "STP", does: "ip link set virbr-two type bridge stp_state 1"},
		{name: "a MAC", does: "ip link set virbr-two address 52:54:00:01:02:03"},
	}
}

// Whatever somebody does is put back as it was, while connections through the network live on.
func TestWhatSomebodyDoesIsPutBackWhileConnectionsLiveOn(t *testing.T) {
	t.Parallel()
	for name, damages := range map[string][]damage{"rules": rulesDamages(), "host": hostDamages()} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, "")
			v4, v6 := w.connect(w.guest, w.away, awayAddr), w.connect(w.guest, w.away, awayAddr6)
			before := w.state()
			for _, d := range damages {
				w.daemon.Kill() // who puts things back three times knows nothing of it, and nobody insists
				if err := w.daemon.Start(); err != nil {
					t.Fatal(err)
				}
				w.goesOn(v4)
				w.goesOn(v6)
				w.host().Shell(strings.ReplaceAll(d.does, "TABLE", w.table()))
				if d.replug {
					w.comes("there is a bridge", func() bool {
						_, err := w.host().Try("ip", "link", "set", "guest0", "master", "virbr-one")
						return err == nil
					})
				}
				took := w.comes("what was done is undone: "+d.name, func() bool { return w.state() == before })
				t.Logf("%s: as before after %v; silence %v by IPv4, %v by IPv6", d.name, took.Round(time.Millisecond),
					w.goesOn(v4).Round(time.Millisecond), w.goesOn(v6).Round(time.Millisecond))
				if p := w.problems(); p != "" {
					t.Errorf("after %s: %s", d.name, p)
				}
			}
		})
	}
}

// Somebody who insists is named and left alone, until a network is started.
func TestSomebodyWhoInsistsOnOtherRulesIsLeftAlone(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "")
	before := w.state()
	p := ""
	for range 30 { // four are enough where a minute is
		w.host().Run("nft", "flush", "ruleset")
		w.comes("it is put back or left alone", func() bool { p = w.problems(); return p != "" || w.state() == before })
		if p != "" {
			break
		}
	}
	if want := "the firewall's rules of networks was put back 3 times within a minute and changed again each time by nft (process "; !strings.Contains(p, want) {
		t.Fatalf("it says %q", p)
	}
	if s := w.state(); s == before {
		t.Error("it is put back all the same")
	}
	w.create("three", 152)
	w.comes("the rules of all are back", func() bool {
		s := w.state()
		return strings.Contains(s, `"virbr-one" . 192.168.150.0`) && strings.Contains(s, `"virbr-three" . 192.168.152.0`)
	})
	if p := w.problems(); p != "" {
		t.Errorf("it says %q", p)
	}
}
