package firewalld_test

import (
	"context"
	"errors"
	"net"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"taproom/internal/host/hosttest"
	"taproom/internal/host/sysbus"
	"taproom/internal/network/firewall"
	"taproom/internal/network/firewall/firewalld"
	"taproom/internal/network/firewall/firewalld/firewalldtest"
)

// A bus that takes connections and says nothing is waited for no longer than for a question, however long firewalld may take
// for a change: everybody who needs the bus waits for the one who looks for it.
func TestABusThatHangs(t *testing.T) {
	t.Parallel()
	socket := filepath.Join(t.TempDir(), "bus")
	l, err := net.Listen("unix", socket) // nobody accepts
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	b := firewalld.New(nothing{}, firewalld.Config{Kernel: hosttest.NewNS(t).Kernel(), Socket: socket, Group: group})
	began := time.Now()
	var silent *firewalld.SilentError
	if err := b.Apply(t.Context(), virbr0, nil); !errors.As(err, &silent) {
		t.Errorf("a bus that hangs: %v", err)
	}
	if took := time.Since(began); took > 50*time.Second { // a change is waited for for longer
		t.Errorf("it was waited for for %v", took)
	}
	if err := b.Close(); err != nil {
		t.Error(err)
	}
}

// Who gives up while somebody else looks for the bus is not kept waiting.
func TestNobodyWaitsForABusLongerThanHeWants(t *testing.T) {
	t.Parallel()
	socket := filepath.Join(t.TempDir(), "bus")
	l, err := net.Listen("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	b := firewalld.New(nothing{}, firewalld.Config{Kernel: hosttest.NewNS(t).Kernel(), Socket: socket, Group: group, Within: time.Hour})
	ctx, cancel := context.WithCancel(t.Context())
	first := make(chan error, 1)
	go func() {
		_, err := b.Running(ctx)
		first <- err
	}()
	c, err := l.Accept() // and is told nothing
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	why := errors.New("no longer wanted")
	gone, leave := context.WithCancelCause(t.Context())
	leave(why)
	if err := b.Apply(gone, virbr0, nil); !errors.Is(err, why) {
		t.Errorf("who gave up: %v", err)
	}
	cancel()
	if err := <-first; !errors.Is(err, context.Canceled) {
		t.Errorf("who looked: %v", err)
	}
	if err := b.Close(); err != nil {
		t.Error(err)
	}
}

// A firewalld that may not be asked, or refuses what it is asked, keeps nobody from seeing what is in force, or from stopping a
// network; what it is needed for fails, and once it answers again all is as it should be.
func TestAFirewalldThatRefuses(t *testing.T) {
	t.Parallel()
	m := newMachine(t, firewalldtest.NFTables)
	b := m.open(t, firewall.New(m.nft, firewall.DefaultTable))
	apply(t, b, virbr0, nil)
	refused := func(what, words string) {
		t.Helper()
		var no *sysbus.Error
		if err := b.Trouble(); !errors.As(err, &no) || !strings.Contains(err.Error(), words) {
			t.Errorf("%s: the trouble is %v", what, err)
		}
	}
	m.Deny(true)
	observed(t, b, virbr0...)
	refused("asked", "")
	var no *sysbus.Error
	if err := b.Apply(t.Context(), virbr1, nil); !errors.As(err, &no) {
		t.Errorf("a bridge that needs it: %v", err)
	}
	apply(t, b, nil, virbr1)
	apply(t, b, nil, virbr0)
	refused("a network that was stopped", "")
	m.Deny(false)
	if zone := m.Interfaces(firewalld.Zone); zone != "virbr0" {
		t.Errorf("in the zone is %q; nothing could take it out", zone)
	}
	observed(t, b)
	if err := b.Trouble(); err != nil {
		t.Errorf("it answers again: %v", err)
	}

	apply(t, b, virbr0, nil)
	m.Call("policies.enableLockdown", nil)
	var locked bool
	m.Call("policies.queryLockdown", &locked)
	apply(t, b, nil, virbr0)
	if locked {
		refused("a lockdown", "ACCESS_DENIED")
	} else if err := b.Trouble(); err != nil { // firewalld 2 knows the methods of a lockdown, which it has no more
		t.Errorf("no lockdown: %v", err)
	}
}

// nothing is a firewall that has no rules.
type nothing struct{}

func (nothing) Observe(context.Context, ...firewall.Element) ([]firewall.Element, error) {
	return nil, nil
}
func (nothing) Apply(context.Context, []firewall.Element, []firewall.Element) error { return nil }
func (nothing) Render([]firewall.Element, []firewall.Element) []string              { return nil }
