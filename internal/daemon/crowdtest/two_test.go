package crowdtest

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"

	"taproom/internal/api/client"
	"taproom/internal/api/own"
	"taproom/internal/api/remote"
	"taproom/internal/daemon/daemontest"
)

// Two daemons that share a network namespace start guests with NICs at once, from the same first name on: none fails, each has
// links of its own, and neither takes away what the other one's guests have, not even when it is killed and takes over.
func TestTwoDaemonsInOneNamespaceStartGuestsWithNICsAtOnce(t *testing.T) {
	t.Parallel()
	const guests, taps, macvtaps = 6, 5, 3
	first := daemontest.New(t)
	links(first)
	daemons := []*daemontest.Daemon{first, first.Beside()}
	started := make([][guests]remote.Domain, len(daemons))
	each := func(do func(c *client.Client, daemon, guest int) error) {
		t.Helper()
		var wg sync.WaitGroup
		for n, d := range daemons {
			for guest := range guests {
				c := d.Client()
				wg.Go(func() {
					if err := do(c, n, guest); err != nil {
						t.Errorf("daemon %d, guest %d: %v", n, guest, err)
					}
				})
			}
		}
		wg.Wait()
		if t.Failed() {
			t.FailNow()
		}
	}
	each(func(c *client.Client, n, guest int) error {
		dom, err := c.DefineDomain(t.Context(), withNICs(fmt.Sprintf("guest-%d", guest), taps, macvtaps))
		if err == nil {
			dom, err = c.StartDomain(t.Context(), dom, paused)
		}
		started[n][guest] = dom
		return err
	})
	apart(t, daemons, guests*(taps+macvtaps))
	// One is killed and takes over while the other one's guests go and come again.
	first.Kill()
	serves, err := first.Launch()
	if err != nil {
		t.Fatal(err)
	}
	other := daemons[1].Client()
	for _, dom := range started[1] {
		err := other.DestroyDomain(t.Context(), dom)
		if err == nil {
			_, err = other.StartDomain(t.Context(), dom, paused)
		}
		if err != nil {
			t.Error(err)
		}
	}
	if err := serves(); err != nil {
		t.Fatal(err)
	}
	apart(t, daemons, guests*(taps+macvtaps))
	each(func(c *client.Client, n, guest int) error {
		dom := started[n][guest]
		return errors.Join(c.DestroyDomain(t.Context(), dom), c.UndefineDomain(t.Context(), dom, 0))
	})
	if a, b := nics(first); a != 0 || b != 0 {
		t.Errorf("%d taps and %d macvtaps are left", a, b)
	}
	nothingIsLeft(t, first)
	if left := daemons[1].Leftovers(); left != nil {
		t.Errorf("left of the other one: %v", left)
	}
}

// apart holds that each daemon has so many links for NICs, which the namespace has too, and shares none.
func apart(t *testing.T, daemons []*daemontest.Daemon, want int) {
	t.Helper()
	there, err := daemons[0].NS.Kernel().Links()
	if err != nil {
		t.Fatal(err)
	}
	alias := map[string]string{}
	for _, l := range there {
		alias[l.Name] = l.Alias
	}
	owner := map[string]int{}
	for n, d := range daemons {
		s, err := d.Client().Status(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if len(s.Problems) > 0 {
			t.Errorf("daemon %d has problems: %v", n, s.Problems)
		}
		count := 0
		for _, dom := range s.Domains {
			for _, nic := range dom.NICs {
				count++
				if other, taken := owner[nic.Link]; taken {
					t.Errorf("%s is daemon %d's and daemon %d's", nic.Link, other, n)
				}
				owner[nic.Link] = n
				if !mine(alias, nic, dom) {
					t.Errorf("daemon %d: %s of %s belongs to %q", n, nic.Link, dom.Name, alias[nic.Link])
				}
			}
		}
		if count != want {
			t.Errorf("daemon %d has %d links, want %d", n, count, want)
		}
	}
}

// mine reports whether a link says that it is a guest's.
func mine(alias map[string]string, nic own.NICStatus, dom own.DomainStatus) bool {
	return strings.HasSuffix(alias[nic.Link], dom.UUID)
}
