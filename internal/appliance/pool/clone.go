package pool

import (
	"context"
	"encoding/json"

	"taproom/internal/appliance/launch"
)

// clone is an appliance of the launch package.
type clone struct{ *launch.Appliance }

var _ Clone = clone{}

// Hand implements Clone.
func (c clone) Hand(context.Context) (*Parcel, error) {
	h, err := c.HandOver()
	if err != nil {
		return nil, err
	}
	facts, err := json.Marshal(h.Facts)
	if err != nil {
		h.Close()
		return nil, err
	}
	return &Parcel{Facts: facts, Files: h.Files}, nil
}

// Gone implements Clone.
func (c clone) Gone() <-chan struct{} { return c.Exited() }

// adopt makes an appliance of a parcel that came.
func adopt(ctx context.Context, s launch.Spec, p *Parcel) (*launch.Appliance, error) {
	h := &launch.Handed{Files: p.Files}
	if err := json.Unmarshal(p.Facts, &h.Facts); err != nil {
		h.Close()
		return nil, err
	}
	return launch.Adopt(ctx, s, h)
}
