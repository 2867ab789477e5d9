package nic

import (
	"context"
	"errors"
	"time"

	"taproom/internal/appliance/dhcpc"
)

// Lessee gets a DHCP lease for a link, and keeps it.
type Lessee struct {
	Index  int
	Link   string // its name
	Client *dhcpc.Client
}

// Acquire asks everybody on the link until it has a lease or ctx is done.
func (l *Lessee) Acquire(ctx context.Context) (dhcpc.Lease, error) {
	t, err := openPacket(l.Index)
	if err != nil {
		return dhcpc.Lease{}, err
	}
	defer t.Close()
	return l.Client.Acquire(ctx, t)
}

// Keep renews a lease until it ends, is refused, or ctx is done. bound is told each that came, and how many came before it.
func (l *Lessee) Keep(ctx context.Context, lease dhcpc.Lease, bound func(l dhcpc.Lease, renewed int)) {
	began := time.Now()
	wait := lease.Renew
	for renewed := 0; ; {
		if !Pause(ctx, wait) {
			return
		}
		next, err := l.renew(ctx, lease, time.Since(began) >= lease.Rebind)
		switch {
		case err == nil:
			renewed++
			lease, began, wait = next, time.Now(), next.Renew
			bound(lease, renewed)
			continue
		case errors.Is(err, dhcpc.ErrRefused):
			return
		}
		left := lease.Duration - time.Since(began)
		if left <= 0 {
			return
		}
		wait = min(max(left/8, time.Second), left)
	}
}

// renew asks the server that gave the lease, and everybody once it had its time.
func (l *Lessee) renew(ctx context.Context, lease dhcpc.Lease, anybody bool) (dhcpc.Lease, error) {
	const patience = 3 * time.Second
	var t interface {
		dhcpc.Transport
		Close() error
	}
	var err error
	if anybody {
		t, err = openPacket(l.Index)
	} else {
		t, err = openUnicast(ctx, l.Link, lease)
	}
	if err != nil {
		return dhcpc.Lease{}, err
	}
	defer t.Close()
	return l.Client.Renew(ctx, t, lease, patience)
}

// Pause waits for a time. It returns false when ctx is done first.
func Pause(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-timer.C:
		return true
	}
}
