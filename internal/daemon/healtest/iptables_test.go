package healtest

import (
	"regexp"
	"strings"
	"testing"
	"time"
)

// counts are those of chains in what iptables-save prints, and its comments.
var counts = regexp.MustCompile(`(?m) \[\d+:\d+\]$|^#.*\n`)

// chains is what there is in iptables, as text.
func (w *world) chains() string {
	return counts.ReplaceAllString(w.host().Run("iptables-save")+w.host().Run("ip6tables-save"), "")
}

// Rules that are kept in iptables are put back as those in nf_tables are. Something here always uses connection tracking:
// the kernel stops it with the last rule that does, and resets connections.
func TestWhatSomebodyDoesInIPTablesIsPutBackWhileConnectionsLiveOn(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "firewall_backend = 'iptables'\n")
	v4, v6 := w.connect(w.guest, w.away, awayAddr, 2*patience), w.connect(w.guest, w.away, awayAddr6, 2*patience)
	before := w.chains()
	for _, does := range []string{
		"iptables -F",
		"iptables -t nat -F",
		"iptables -D FORWARD -j TABLE-forward; ip6tables -F TABLE-out",
		"iptables -I TABLE-forward -j DROP",
	} {
		w.daemon.Kill()
		if err := w.daemon.Start(); err != nil {
			t.Fatal(err)
		}
		w.goesOn(v4)
		w.goesOn(v6)
		w.host().Shell(strings.ReplaceAll(does, "TABLE", w.table()))
		took := w.comes("what was done is undone: "+does, func() bool { return w.chains() == before })
		silence4, _ := w.goesOn(v4)
		silence6, _ := w.goesOn(v6)
		t.Logf("%s: as before after %v; silence %v by IPv4, %v by IPv6", does, took.Round(time.Millisecond), silence4.Round(time.Millisecond), silence6.Round(time.Millisecond))
		if p := w.problems(); p != "" {
			t.Errorf("after %s: %s", does, p)
		}
		w.comes("it says so", func() bool {
			return strings.Contains(w.daemon.Said(), "changed the firewall's rules of networks: it is put back")
		})
	}
}
