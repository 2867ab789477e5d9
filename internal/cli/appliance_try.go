package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"taproom/internal/appliance/pool"
	"taproom/internal/host"
)

// triedAppliance is what --try prints.
type triedAppliance struct {
	Ready float64 `json:"ready_ms"` // from the request on the pool's socket to the answer of the appliance
	PID   int     `json:"pid"`
	PSS   uint64  `json:"pss"` // bytes
}

// tryPool takes an appliance from a pool, says how long that took, and ends it.
func (env *Env) tryPool(ctx context.Context, k *host.Kernel, t pool.Ticket, wait bool) (err error) {
	began := time.Now()
	a, err := pool.Launch(ctx, t.Order.Spec(k), pool.Options{Dir: t.Place.Dir, Wait: wait})
	if err != nil {
		return err
	}
	took := time.Since(began)
	defer func() { err = errors.Join(err, a.Close()) }()
	tried := triedAppliance{Ready: float64(took.Nanoseconds()) / 1e6, PID: a.PID()}
	if tried.PSS, err = a.PSS(); err != nil {
		return err
	}
	return env.print(tried, func(w io.Writer) error {
		_, err := fmt.Fprintf(w, "ready after %.2f ms: process %d, %.1f MB\n", tried.Ready, tried.PID, float64(tried.PSS)/1e6)
		return err
	})
}
