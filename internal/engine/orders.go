package engine

import (
	"sync"
	"time"

	"taproom/internal/qemu/qmp"
)

// orders are what the daemon tells a guest's processors to do. That they do it is no news, even where it is read late:
// events are read beside the answers to commands.
type orders struct {
	mu    sync.Mutex
	under bool  // one is being carried out
	last  int64 // when the last one was, in microseconds
}

// command tells the guest's processors what to do. What was news before has been published by then. The caller holds the
// domain's slot.
func (run *running) command(f func() error) error {
	o := &run.orders
	o.mu.Lock()
	o.under = true
	o.mu.Unlock()
	err := f()
	o.mu.Lock()
	defer o.mu.Unlock()
	o.under, o.last = false, time.Now().UnixMicro() // QEMU's clock is this host's
	return err
}

// ifNews publishes what QEMU tells of its processors, if that is a change that the daemon did not ask for. No order is
// given meanwhile: its outcome would be published first, and then what was before it.
func (run *running) ifNews(ev qmp.Event, publish func()) {
	o := &run.orders
	o.mu.Lock()
	defer o.mu.Unlock()
	if !run.settling.Load() && !o.under && (ev.Time.IsZero() || ev.Time.UnixMicro() > o.last) {
		publish()
	}
}
