package pool

import (
	"context"
	"encoding/json"
	"errors"
	"sync"

	"taproom/internal/appliance/launch"
)

// clone is an appliance of the launch package that is packed already: whoever asks waits for nothing but the mail.
type clone struct {
	*launch.Appliance
	mu     sync.Mutex
	parcel *Parcel // nil once it was handed out
}

var _ Clone = (*clone)(nil)

// pack makes one of an appliance that nobody has used. Where that fails the appliance has ended.
func pack(a *launch.Appliance) (*clone, error) {
	h, err := a.HandOver()
	if err != nil {
		return nil, errors.Join(err, a.Close())
	}
	facts, err := json.Marshal(h.Facts)
	if err != nil {
		h.Close()
		return nil, errors.Join(err, a.Close())
	}
	return &clone{Appliance: a, parcel: &Parcel{Facts: facts, Files: h.Files}}, nil
}

// Hand implements Clone.
func (c *clone) Hand(context.Context) (*Parcel, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.parcel == nil {
		return nil, errors.New("it was handed out before, or has ended")
	}
	p := c.parcel
	c.parcel = nil
	return p, nil
}

// Gone implements Clone.
func (c *clone) Gone() <-chan struct{} { return c.Exited() }

// Close implements Clone.
func (c *clone) Close() error {
	c.mu.Lock()
	p := c.parcel
	c.parcel = nil
	c.mu.Unlock()
	if p != nil { // with its leash: the kernel kills it
		p.Close()
		<-c.Exited()
	}
	return c.Appliance.Close()
}

// adopt makes an appliance of a parcel that came.
func adopt(ctx context.Context, s launch.Spec, p *Parcel) (*launch.Appliance, error) {
	h := &launch.Handed{Files: p.Files}
	if err := json.Unmarshal(p.Facts, &h.Facts); err != nil {
		h.Close()
		return nil, err
	}
	return launch.Adopt(ctx, s, h)
}
