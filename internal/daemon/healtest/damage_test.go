package healtest

import (
	"strings"
	"testing"
	"time"

	"taproom/internal/host"
	"taproom/internal/host/hosttest"
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

// shared lets anybody change the firewall's tables, as on a kernel that knows no owners of tables.
const shared = "nft_owned_tables = false\n"

// Whatever somebody does is put back as it was, and connections through the network go on.
func TestWhatSomebodyDoesIsPutBackAndConnectionsGoOn(t *testing.T) {
	t.Parallel()
	for name, damages := range map[string][]damage{"rules": rulesDamages(), "host": hostDamages()} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, shared)
			giveUp := 2 * patience
			if name == "rules" {
				giveUp = patience / 6
			}
			v4, v6 := w.connect(w.guest, w.away, awayAddr, giveUp), w.connect(w.guest, w.away, awayAddr6, giveUp)
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
				took := w.same(before, d.name)
				silence4, cuts4 := w.goesOn(v4)
				silence6, cuts6 := w.goesOn(v6)
				t.Logf("%s: as before after %v; silence %v by IPv4, %v by IPv6, cut %d times", d.name, took.Round(time.Millisecond), silence4, silence6, cuts4+cuts6)
				// While nothing translates addresses, the host takes an answer that is under way for its own, and refuses it.
				if name != "rules" && cuts4+cuts6 > 0 {
					t.Errorf("%s cuts connections", d.name)
				}
				if p := w.problems(); p != "" {
					t.Errorf("after %s: %s", d.name, p)
				}
			}
		})
	}
}

// Somebody who insists is named, and what he does is undone more and more rarely, until he ends.
func TestSomebodyWhoInsistsOnOtherRulesIsNamedAndNeverLeftAlone(t *testing.T) {
	t.Parallel()
	w := newWorld(t, shared)
	before := w.state()
	p := ""
	for range 30 { // two are enough
		w.host().Run("nft", "flush", "ruleset")
		w.comes("it is put back, now or later", func() bool { p = w.problems(); return p != "" || w.state() == before })
		if p != "" {
			break
		}
	}
	if p == "" {
		t.Error("30 flushes are no quarrel")
	}
	end := w.raise(flushes()["nft"]) // or it is over before anybody has looked
	w.says("the firewall's rules of networks was put back ", "last by nft", "closed meanwhile, so that nothing is forwarded to guests: one, two; ")
	end()
	took := w.same(before, "somebody ended to insist")
	w.comes("nothing is wrong", func() bool { return w.problems() == "" })
	end = w.raise(flushes()["nft"])
	w.comes("it goes on", func() bool { return w.problems() != "" })
	w.comes("guests of NAT are sheltered", func() bool { return w.fence("virbr-one").To4 })
	w.daemon.Kill()
	if !w.fence("virbr-one").To4 {
		t.Error("without a daemon they are not")
	}
	end()
	if err := w.daemon.Start(); err != nil {
		t.Fatal(err)
	}
	w.same(before, "another daemon came")
	if f := w.fence("virbr-one"); f != (host.Fence{}) {
		t.Errorf("with another daemon guests are sheltered by %+v", f)
	}
	w.create("three", 152)
	w.comes("the rules of all are back", func() bool {
		s := w.state()
		return strings.Contains(s, `"virbr-one" . 192.168.150.0`) && strings.Contains(s, `"virbr-three" . 192.168.152.0`)
	})
	w.comes("nothing is wrong with three", func() bool { return w.problems() == "" })
	t.Logf("it is as before %v after the last change", took.Round(time.Millisecond))
	if out := w.host().Run("nft", "list", "tables"); strings.Contains(out, "-probe") {
		t.Errorf("left: %s", out)
	}
}

// Where the kernel knows owners of tables, nobody else changes those of the daemon while it runs, and nobody notices that it
// does not.
func TestOwnedTablesAreNobodyElses(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "")
	v4, v6 := w.connect(w.guest, w.away, awayAddr, 2*patience), w.connect(w.guest, w.away, awayAddr6, 2*patience)
	before := w.state()
	if !strings.Contains(before, "flags owner") {
		hosttest.Needs(t, &host.Missing{What: "tables that persist", Config: "CONFIG_NF_TABLES"}, hosttest.Lift{Since: "6.12"})
	}
	w.host().Shell("nft add table ip other; nft flush ruleset")
	if _, err := w.host().Try("nft", "list", "table", "ip", "other"); err == nil {
		t.Error("the rules of others were not flushed")
	}
	for _, d := range rulesDamages()[1:] {
		if out, err := w.host().Try("sh", "-e", "-c", strings.ReplaceAll(d.does, "TABLE", w.table())); err == nil {
			t.Errorf("%s: somebody else can: %s", d.does, out)
		}
	}
	w.host().Shell("iptables -F; iptables -t nat -F; ip6tables -F") // of tables that nobody has
	w.host().Keep("table ip *", "table ip6 *")
	for _, s := range []*stream{v4, v6} {
		if _, cuts := w.goesOn(s); cuts > 0 {
			t.Errorf("a connection was cut %d times", cuts)
		}
	}
	w.host().Run("ip", "link", "delete", "virbr-one")
	w.comes("there is a bridge", func() bool {
		_, err := w.host().Try("ip", "link", "set", "guest0", "master", "virbr-one")
		return err == nil
	})
	took := w.same(before, "its bridge was deleted")
	for _, s := range []*stream{v4, v6} {
		silence, cuts := w.goesOn(s)
		t.Logf("a bridge: as before after %v, silence %v", took.Round(time.Millisecond), silence)
		if cuts > 0 {
			t.Errorf("a connection was cut %d times when its bridge was deleted", cuts)
		}
	}
	if s := w.state(); s != before {
		t.Errorf("before:\n%s\nand after:\n%s", before, s)
	}
	w.daemon.Kill()
	w.goesOn(v4)
	w.goesOn(v6)
	if err := w.daemon.Start(); err != nil {
		t.Fatal(err)
	}
	for _, s := range []*stream{v4, v6} {
		if _, cuts := w.goesOn(s); cuts > 0 {
			t.Errorf("a connection was cut %d times", cuts)
		}
	}
	if s := w.state(); s != before {
		t.Errorf("before:\n%s\nand with the next daemon:\n%s", before, s)
	}
}
