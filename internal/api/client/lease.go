package client

import (
	"context"
	"encoding/json"
	"fmt"

	"taproom/internal/api/own"
	"taproom/internal/api/remote"
	"taproom/internal/api/xdr"
)

// GuestLeases are the leases of a network, of both families; "" is all networks that are active.
func (c *Client) GuestLeases(ctx context.Context, network string) (out own.LeasesResult, err error) {
	err = c.json(ctx, remote.OwnLeases, own.LeasesRequest{Network: network}, &out)
	return out, err
}

// Lookup asks a network's DNS as a guest would.
func (c *Client) Lookup(ctx context.Context, r own.LookupRequest) (out own.LookupResult, err error) {
	err = c.json(ctx, remote.OwnLookup, r, &out)
	return out, err
}

// FollowLeases subscribes to what happens to leases of a network, or with "" of all (values of type own.LeaseEvent). The
// channel is closed when the connection ends, when cancel is called, and when nobody reads it.
func (c *Client) FollowLeases(ctx context.Context, network string) (events <-chan any, cancel func(context.Context) error, err error) {
	request, err := json.Marshal(own.LeasesRequest{Network: network})
	if err != nil {
		return nil, nil, fmt.Errorf("encode the request: %w", err)
	}
	var ret remote.JSON
	var subscribed own.Subscription
	key := subKey{of: ofLeases}
	s := &subscription{procedure: remote.OwnEventLease, decode: decodeLease, events: make(chan any, eventBacklog)}
	_, err = c.call(ctx, remote.ProgramOwn, remote.OwnSubscribeLeases, &remote.JSON{B: request}, &ret, func(uint32) {
		if json.Unmarshal(ret.B, &subscribed) == nil {
			key.callback = subscribed.Callback
			c.note(key, s)
		}
	})
	if err != nil {
		return nil, nil, err
	}
	cancel = func(ctx context.Context) error {
		c.unsubscribe(key)
		return c.json(ctx, remote.OwnUnsubscribe, subscribed, &struct{}{})
	}
	return s.events, cancel, nil
}

func decodeLease(body []byte) (any, error) {
	var w remote.OwnEvent
	if err := xdr.Decode(body, &w); err != nil {
		return nil, err
	}
	var e own.LeaseEvent
	err := json.Unmarshal(w.B, &e)
	return e, err
}
