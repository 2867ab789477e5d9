package helper

import (
	"context"
	"errors"
)

// begin starts what runs beside a connected helper, unless err says that connecting failed after all.
func (h *Helper) begin(ctx context.Context, err error) (*Helper, error) {
	own, cancel := context.WithCancel(context.WithoutCancel(ctx))
	h.cancel = cancel
	if err == nil {
		_, err = h.wire.call(ctx, Request{Op: OpSubscribe})
	}
	if err != nil {
		cancel()
		h.wire.close()
		h.group.Wait()
		if h.process != nil {
			err = errors.Join(err, h.process.Close())
		}
		return nil, err
	}
	h.group.Go(func() { h.watch(own) })
	h.group.Go(func() { h.tidy(own) })
	if h.adopted {
		h.group.Go(func() { h.borrow(own) })
	}
	return h, nil
}

// watch tells when the helper is lost.
func (h *Helper) watch(ctx context.Context) {
	h.group.Go(func() {
		if h.wait(ctx) == nil {
			close(h.over)
		}
	})
	select {
	case <-h.over:
	case <-h.wire.done:
	}
	close(h.lost)
}

// tidy compacts lease files that the helper says are mostly history.
func (h *Helper) tidy(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case id := <-h.compact:
			if err := h.Compact(ctx, id); err != nil && ctx.Err() == nil {
				h.deliver(Event{Network: id, Failed: err.Error()})
			}
		}
	}
}

// deliver queues an event for the daemon and waits for nobody.
func (h *Helper) deliver(e Event) {
	if e.Compact {
		select {
		case h.compact <- e.Network:
		default: // the helper asks again after the next set
		}
		return
	}
	select {
	case h.events <- e:
	default:
		select {
		case <-h.events: // makes room for saying so
		default:
		}
		select {
		case h.events <- Event{Missed: true}:
		default:
		}
	}
}
