package client

import (
	"context"
	"encoding/binary"

	"taproom/internal/api/remote"
	"taproom/internal/api/xdr"
)

// eventBacklog is how many events may wait for a reader before the subscription ends.
const eventBacklog = 4096

// subKey is a callback's number; domains, networks and leases count separately.
type subKey struct {
	of       subject
	callback int32
}

type subject int

const (
	ofDomains subject = iota
	ofNetworks
	ofLeases
)

// subscription delivers one kind of event.
type subscription struct {
	procedure uint32
	decode    func(body []byte) (any, error)
	events    chan any
}

// DomainLifecycle is a change of a domain's life.
type DomainLifecycle struct {
	Domain        remote.Domain
	Event, Detail int32
}

// NetworkLifecycle is a change of a network's life.
type NetworkLifecycle struct {
	Network remote.Network
	Event   int32
}

// Lifecycle subscribes to changes of domains (values of type DomainLifecycle). The channel is closed when the connection
// ends, when cancel is called, and when nobody reads it.
func (c *Client) Lifecycle(ctx context.Context) (events <-chan any, cancel func(context.Context) error, err error) {
	return c.subscribe(ctx, ofDomains, remote.ProcConnectDomainEventCallbackRegisterAny, remote.ProcConnectDomainEventCallbackDeregisterAny,
		&remote.DomainEventRegister{Event: remote.EventLifecycle}, remote.ProcDomainEventCallbackLifecycle,
		func(body []byte) (any, error) {
			e, event, detail := remote.NewLifecycle()
			err := xdr.Decode(body, e)
			return DomainLifecycle{Domain: e.Domain, Event: event.N, Detail: detail.N}, err
		})
}

// NetworkLifecycle subscribes to changes of networks (values of type NetworkLifecycle), as Lifecycle does.
func (c *Client) NetworkLifecycle(ctx context.Context) (events <-chan any, cancel func(context.Context) error, err error) {
	return c.subscribe(ctx, ofNetworks, remote.ProcConnectNetworkEventRegisterAny, remote.ProcConnectNetworkEventDeregisterAny,
		&remote.NetworkEventRegister{}, remote.ProcNetworkEventLifecycle,
		func(body []byte) (any, error) {
			var e remote.NetworkEvent
			err := xdr.Decode(body, &e)
			return NetworkLifecycle{Network: e.Network, Event: e.Event}, err
		})
}

func (c *Client) subscribe(ctx context.Context, of subject, register, deregister uint32, args xdr.Value, procedure uint32,
	decode func([]byte) (any, error),
) (<-chan any, func(context.Context) error, error) {
	var ret remote.Int
	s := &subscription{procedure: procedure, decode: decode, events: make(chan any, eventBacklog)}
	key := subKey{of: of}
	_, err := c.call(ctx, remote.ProgramRemote, register, args, &ret, func(uint32) {
		key.callback = ret.N
		c.note(key, s)
	})
	if err != nil {
		return nil, nil, err
	}
	cancel := func(ctx context.Context) error {
		c.unsubscribe(key)
		return c.Call(ctx, remote.ProgramRemote, deregister, &remote.Int{N: key.callback}, &xdr.Void{})
	}
	return s.events, cancel, nil
}

// note keeps a subscription. The first event may follow the reply at once, so the reading goroutine itself does it.
func (c *Client) note(key subKey, s *subscription) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.subs != nil {
		c.subs[key] = s
	}
}

func (c *Client) unsubscribe(key subKey) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if s := c.subs[key]; s != nil {
		delete(c.subs, key)
		close(s.events)
	}
}

// event delivers an event. Every form that is subscribed to begins with the callback's number.
func (c *Client) event(h remote.Header, body []byte) {
	if len(body) < 4 {
		return
	}
	key := subKey{of: ofDomains, callback: int32(binary.BigEndian.Uint32(body))}
	switch {
	case h.Program == remote.ProgramOwn:
		key.of = ofLeases
	case h.Program != remote.ProgramRemote:
		return
	case h.Procedure == remote.ProcNetworkEventLifecycle:
		key.of = ofNetworks
	}
	c.mu.Lock()
	s := c.subs[key]
	c.mu.Unlock()
	if s == nil || s.procedure != h.Procedure {
		return
	}
	e, err := s.decode(body)
	if err != nil {
		c.unsubscribe(key)
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.subs[key] != s {
		return // cancelled meanwhile
	}
	select {
	case s.events <- e:
	default:
		delete(c.subs, key)
		close(s.events)
	}
}
