package pool

import (
	"context"
	"errors"
	"fmt"

	"taproom/internal/appliance/launch"
	"taproom/internal/host"
)

// Options say which pool is asked, and how.
type Options struct {
	Dir     string // of sockets; "": DefaultDir
	Program string // taproom, which is started where there is no pool; "": this program, beside it, or of the search path
	Wait    bool   // for memory, where there is none now
}

// Launch gets an appliance from the user's own pool, which is started where there is none. It is the caller's alone, and ends
// with it.
func Launch(ctx context.Context, s launch.Spec, o Options) (*launch.Appliance, error) {
	if s.Kernel == nil {
		s.Kernel = host.New(host.Options{})
	}
	order, err := NewOrder(s.Kernel, s)
	if err != nil {
		return nil, fmt.Errorf("get an appliance from the pool: %w", err)
	}
	place, err := Find(s.Kernel, o.Dir, order)
	if err != nil {
		return nil, fmt.Errorf("get an appliance from the pool: %w", err)
	}
	a, err := get(ctx, s, place, o.Wait)
	if errors.Is(err, ErrNoPool) || errors.Is(err, ErrEnding) {
		if err = start(ctx, s.Kernel, Ticket{order, place}, o.Program); err == nil {
			a, err = get(ctx, s, place, o.Wait)
		}
	}
	if err != nil {
		return nil, fmt.Errorf("get an appliance from the pool: %w", err)
	}
	return a, nil
}

// get takes one from a pool that is there. The pool begins nothing before the appliance has answered here, so that it does
// not take the processor from it.
func get(ctx context.Context, s launch.Spec, p Place, wait bool) (*launch.Appliance, error) {
	c, parcel, err := take(ctx, s.Kernel, p.Socket(), wait)
	if err != nil {
		return nil, err
	}
	defer c.Close()
	return adopt(ctx, s, parcel)
}
