package firewalld_test

import (
	"context"
	"errors"
	"net"
	"path/filepath"
	"testing"
	"time"

	"taproom/internal/host/hosttest"
	"taproom/internal/network/firewall"
	"taproom/internal/network/firewall/firewalld"
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
	if took := time.Since(began); took > 15*time.Second {
		t.Errorf("it was waited for for %v", took)
	}
	if err := b.Close(); err != nil {
		t.Error(err)
	}
}

// nothing is a firewall that has no rules.
type nothing struct{}

func (nothing) Observe(context.Context) ([]firewall.Element, error)                 { return nil, nil }
func (nothing) Apply(context.Context, []firewall.Element, []firewall.Element) error { return nil }
func (nothing) Render([]firewall.Element, []firewall.Element) []string              { return nil }
