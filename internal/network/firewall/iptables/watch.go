package iptables

import (
	"context"
	"time"

	"taproom/internal/network/state"
)

var (
	_ state.FirewallWatcher = (*Firewall)(nil)
	_ state.FirewallPoller  = (*Firewall)(nil)
)

// Interval is how often Watch looks: the older of the kernel's interfaces tells nobody of a change.
const Interval = 2 * time.Second

// Polls implements state.FirewallPoller.
func (f *Firewall) Polls() bool { return f.told == nil }

// Watch implements state.FirewallWatcher. When it has to look it does not learn who made a change; those of this daemon count
// as others' either way.
func (f *Firewall) Watch(ctx context.Context, changed func(who string)) error {
	if f.told != nil {
		return f.told(ctx, changed)
	}
	last, err := f.fingerprint(ctx)
	if err != nil {
		return err
	}
	changed("")
	tick := time.NewTicker(f.interval)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
		now, err := f.fingerprint(ctx)
		if err != nil { // somebody holds the lock, or ctx is done: the next look will tell
			continue
		}
		if now != last {
			last = now
			changed("")
		}
	}
}

// fingerprint is all that is ours, as text.
func (f *Firewall) fingerprint(ctx context.Context) (string, error) {
	text := ""
	for _, v6 := range families {
		s, err := f.look(ctx, v6)
		if err != nil {
			return "", err
		}
		text += s.ours(tableMain) + s.ours(tableNAT)
	}
	return text, nil
}
