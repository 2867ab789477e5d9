package firewalld_test

import (
	"context"
	"strings"
	"testing"

	"taproom/internal/network/firewall"
	"taproom/internal/network/firewall/firewalld"
	"taproom/internal/network/firewall/firewalld/firewalldtest"
)

// told is a firewall that tells before it is looked at.
type told struct {
	firewall.Backend
	looks func()
}

func (f *told) Observe(ctx context.Context, only ...firewall.Element) ([]firewall.Element, error) {
	f.looks()
	return f.Backend.Observe(ctx, only...)
}

// A bridge that goes while somebody looks, and waits for firewalld, is taken out of its zone: what was seen of it is old.
func TestABridgeThatGoesWhileItIsLookedAtIsInNoZone(t *testing.T) {
	t.Parallel()
	m := newMachine(t, firewalldtest.NFTables)
	below := &told{firewall.New(m.nft, firewall.DefaultTable), func() {}}
	b := m.open(t, below)
	apply(t, b, virbr0, nil)
	asked, answered, seen := make(chan struct{}), make(chan struct{}), make(chan error, 1)
	b.SetAround(func(method string, call func() error) error {
		err := call()
		if strings.HasSuffix(method, ".zone.getActiveZones") {
			close(asked)
			<-answered
		}
		return err
	})
	go func() {
		_, err := b.Observe(t.Context())
		seen <- err
	}()
	<-asked
	below.looks = func() { // it is gone from the rules, and nearly from its zone
		close(answered)
		if err := <-seen; err != nil {
			t.Error(err)
		}
	}
	apply(t, b, nil, virbr0)
	if zone := m.Interfaces(firewalld.Zone); zone != "" {
		t.Errorf("in the zone is %q", zone)
	}
}
