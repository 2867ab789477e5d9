package crashtest

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"taproom/internal/api/client"
	"taproom/internal/engine"
	"taproom/internal/network/firewall/firewalld"
	"taproom/internal/network/firewall/firewalld/firewalldtest"
)

// ownLines are the lines of all rules there are that name the daemon's tables or chains.
func (w *world) ownLines() string {
	table := engine.NewIdentity(w.Root).Table
	var own []string
	for line := range strings.Lines(w.NS.Run("nft", "list", "ruleset")) {
		if strings.Contains(line, table) {
			own = append(own, line)
		}
	}
	return strings.Join(own, "")
}

// settle writes the daemon's settings.
func (w *world) settle(settings string) error {
	dir := w.Paths().Config
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(dir, "taproomd.toml"), []byte(settings), 0o644)
}

// lifeOfANetwork is all that changes the firewall's rules.
func lifeOfANetwork(w *world, c *client.Client) error {
	o := w.objects[0]
	for _, next := range []func(*object) step{define, start, addHost, destroy, up, undefine, destroy, create, destroy} {
		if err := w.do(c, next(o)); err != nil {
			return err
		}
	}
	return nil
}

// killInItsLife kills a daemon at any call of a network's life, with the rules elsewhere than in tables of nf_tables alone.
func killInItsLife(t *testing.T, tr trial, settings func(*world) string) {
	t.Helper()
	tr.before = func(w *world) error {
		if err := w.wipe(); err != nil {
			return err
		}
		return w.settle(settings(w))
	}
	tr.drive = lifeOfANetwork
	tr.after = func(w *world) error {
		return w.serve(func(c *client.Client) error {
			if err := w.verify(c); err != nil {
				return err
			}
			if w.rounds++; long() || w.rounds%4 == 0 {
				return w.again(c)
			}
			return w.away(c)
		})
	}
	everyCall(t, tr)
}

func TestADaemonKilledWhileItsRulesAreInIPTablesLosesNothingAndLeavesNothing(t *testing.T) {
	t.Parallel()
	killInItsLife(t, trial{
		world: func(t *testing.T) *world {
			w := newWorld(t, newNetwork(1))
			w.NS.Keep("table ip *", "table ip6 *") // iptables never removes a table
			w.Rules = w.ownLines
			return w
		},
		stride: 151,
	}, func(*world) string { return "firewall_backend = 'iptables'\n" })
}

// TestADaemonKilledBesideFirewalldLosesNothingAndLeavesNothing is with firewalld's own rules, and what it knows of bridges. That
// it has to be told of the zone comes up in the long run each time.
func TestADaemonKilledBesideFirewalldLosesNothingAndLeavesNothing(t *testing.T) {
	t.Parallel()
	fwds := map[*world]*firewalldtest.Daemon{}
	killInItsLife(t, trial{
		world: func(t *testing.T) *world {
			w := newWorld(t, newNetwork(1))
			fwd := firewalldtest.Start(t, w.NS, firewalldtest.NFTables)
			fwds[w] = fwd
			w.Rules = func() string {
				var links []string
				if err := fwd.Try("zone.getInterfaces", &links, firewalld.Zone); err != nil && !strings.Contains(err.Error(), "INVALID_ZONE") {
					return err.Error()
				}
				own := w.ownLines()
				if len(links) > 0 {
					own += fmt.Sprintf("in the zone: %v\n", links)
				}
				return own
			}
			return w
		},
		alone: true, stride: 151,
	}, func(w *world) string {
		if w.rounds > 0 && (long() || w.rounds%4 == 0) {
			fwds[w].Renew()
		}
		return fmt.Sprintf("system_bus = '%s'\n", fwds[w].Socket)
	})
}
