package daemon

import (
	"context"
	"time"

	"taproom/internal/api/server"
)

// idle returns when nobody has been connected and no guest has run for a while, or when ctx is done. Changed tells that a
// client came or went, or that something became of a guest.
func idle(ctx context.Context, within time.Duration, changed <-chan struct{}, busy func() bool) error {
	timer := time.NewTimer(within)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-changed:
			timer.Reset(within)
		case <-timer.C:
			if !busy() {
				return nil
			}
			timer.Reset(within)
		}
	}
}

// busy reports whether somebody needs the daemon: a client, or a guest whose end it has to see.
func busy(srv *server.Server, domains func([]server.Domain) []server.Domain) bool {
	if srv.Connections() > 0 {
		return true
	}
	for _, d := range domains(nil) {
		if d.ID >= 0 {
			return true
		}
	}
	return false
}

// nudge has whoever waits on c look again.
func nudge(c chan<- struct{}) {
	select {
	case c <- struct{}{}:
	default: // there is one already
	}
}
