package iptables_test

import (
	"context"
	"testing"
	"time"

	"taproom/internal/host/xtables/xtablestest"
	"taproom/internal/network/firewall"
	"taproom/internal/network/firewall/firewalltest"
	"taproom/internal/network/firewall/iptables"
)

// counted tells each look.
type counted struct {
	*xtablestest.Fake
	looks chan struct{}
}

func (c *counted) Save(ctx context.Context, v6 bool) (string, error) {
	if !v6 {
		select {
		case c.looks <- struct{}{}:
		case <-ctx.Done():
		}
	}
	return c.Fake.Save(ctx, v6)
}

func TestAWatchTellsOfChangesToOurRulesAndOfNoOthers(t *testing.T) {
	t.Parallel()
	fake := &xtablestest.Fake{}
	f, err := iptables.New(fake, firewall.DefaultTable)
	if err != nil {
		t.Fatal(err)
	}
	if err := f.Apply(t.Context(), firewalltest.Elements("nat", "virbr0", "192.168.122.0/24"), nil); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	looks, told, ended := make(chan struct{}), make(chan struct{}, 100), make(chan error, 1)
	w, err := iptables.New(&counted{fake, looks}, firewall.DefaultTable)
	if err != nil {
		t.Fatal(err)
	}
	w.SetInterval(time.Millisecond)
	go func() { ended <- w.Watch(ctx, func(string) { told <- struct{}{} }) }()
	<-looks
	<-told // it watches
	change := func(script string) {
		t.Helper()
		if err := fake.Restore(t.Context(), false, "*filter\n"+script+"\nCOMMIT\n"); err != nil {
			t.Fatal(err)
		}
	}
	change("-I FORWARD 1 -i docker0 -j ACCEPT")
	change("-D FORWARD -i docker0 -j ACCEPT")
	change("-A FORWARD -i docker0 -j ACCEPT")
	for range 3 { // the last look that began after the change has ended
		<-looks
	}
	if len(told) > 0 {
		t.Error("it told of a change that is none of ours")
	}
	change("-A taproom-out -j DROP")
	for heard := false; !heard; {
		select {
		case <-looks:
		case <-told:
			heard = true
		}
	}
	cancel()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}
