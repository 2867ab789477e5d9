package iptables

import (
	"fmt"
	"strings"
	"testing"

	"taproom/internal/host/xtables"
	"taproom/internal/network/firewall"
	"taproom/internal/network/firewall/firewalltest"
)

// Of a thousand networks' rules a look takes those apart that were not there at the look before, and keeps none of those that
// have gone.
func TestALookTakesApartWhatIsNewAlone(t *testing.T) {
	t.Parallel()
	l := layout{prefix: firewall.DefaultTable}
	k := &known{}
	see := func(networks ...int) int {
		t.Helper()
		s := sight{l, &xtables.Listing{}, k}
		var members []firewall.Member
		for _, n := range networks {
			for _, e := range firewalltest.Elements("nat", fmt.Sprint("virbr", n), fmt.Sprintf("10.%d.%d.0/24", n>>8, n&255)) {
				m, err := l.parse(e)
				if err != nil {
					t.Fatal(err)
				}
				members = append(members, m)
			}
		}
		for _, c := range l.chains() {
			table := s.all.Table(c.table)
			if len(table.Chains) == 0 {
				s.all.Tables = append(s.all.Tables, table)
			}
			table.Chains = append(table.Chains, &xtables.Chain{Name: l.chain(c.name), Policy: "-"})
			if c.from != "" {
				table.Chains = append(table.Chains, &xtables.Chain{Name: c.from, Policy: "ACCEPT", Rules: []string{"-j " + l.chain(c.name)}})
			}
		}
		for _, m := range members {
			for _, p := range l.rules(m) {
				c := s.all.Table(p.table).Chain(l.chain(p.chain))
				c.Rules = append(c.Rules, p.rule)
			}
		}
		for _, c := range l.chains() {
			to := s.all.Table(c.table).Chain(l.chain(c.name))
			to.Rules = append(to.Rules, c.tail...)
		}
		found, intact := s.elements()
		if !intact || len(found) != len(members) {
			t.Fatalf("%d of %d elements were read, intact: %t", len(found), len(members), intact)
		}
		return len(found)
	}
	see(0, 1, 2)
	before := *k
	// What the look before met is marked, to see it again: nothing of it is read a second time.
	const marked = "as it was"
	for at, r := range before.rules {
		if r.is {
			r.form += marked
			before.rules[at] = r
		}
	}
	for e, w := range before.elements {
		for i := range w.places {
			w.places[i].rule += marked
		}
		before.elements[e] = w
	}
	see(0, 1, 2, 3)
	count := func(marks bool) (n int) {
		for _, r := range k.rules {
			if r.is && strings.HasSuffix(r.form, marked) == marks {
				n++
			}
		}
		return n
	}
	if old, fresh := count(true), count(false); old != 3*fresh || fresh == 0 {
		t.Errorf("of the rules of four networks %d were known and %d were taken apart; want those of three, and of one", old, fresh)
	}
	all := len(k.rules)
	see(3)
	if left := len(k.rules); left >= all {
		t.Errorf("%d rules are kept after a look at those of one network, of %d", left, all)
	}
	if len(k.elements) != see(3) {
		t.Errorf("%d elements are kept", len(k.elements))
	}
}
