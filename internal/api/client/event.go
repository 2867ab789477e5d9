package client

import (
	"context"
	"encoding/binary"

	"taproom/internal/api/remote"
	"taproom/internal/api/xdr"
)

// eventBacklog is how many events may wait for a reader before the subscription ends.
const eventBacklog = 4096

// subKey is a callback's number; domains and networks count separately.
type subKey struct {
	network  bool
	callback int32
}

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
	return c.subscribe(ctx, false, remote.ProcConnectDomainEventCallbackRegisterAny, remote.ProcConnectDomainEventCallbackDeregisterAny,
		&remote.DomainEventRegister{Event: remote.EventLifecycle}, remote.ProcDomainEventCallbackLifecycle,
		func(body []byte) (any, error) {
			e := remote.NewLifecycle()
			err := xdr.Decode(body, e)
			return DomainLifecycle{Domain: e.Domain, Event: e.Numbers[0], Detail: e.Numbers[1]}, err
		})
}

// NetworkLifecycle subscribes to changes of networks (values of type NetworkLifecycle), as Lifecycle does.
func (c *Client) NetworkLifecycle(ctx context.Context) (events <-chan any, cancel func(context.Context) error, err error) {
	return c.subscribe(ctx, true, remote.ProcConnectNetworkEventRegisterAny, remote.ProcConnectNetworkEventDeregisterAny,
		&remote.NetworkEventRegister{}, remote.ProcNetworkEventLifecycle,
		func(body []byte) (any, error) {
			var e remote.NetworkEvent
			err := xdr.Decode(body, &e)
			return NetworkLifecycle{Network: e.Network, Event: e.Event}, err
		})
}

func (c *Client) subscribe(ctx context.Context, network bool, register, deregister uint32, args xdr.Value, procedure uint32,
	decode func([]byte) (any, error),
) (<-chan any, func(context.Context) error, error) {
	s := &subscription{procedure: procedure, decode: decode, events: make(chan any, eventBacklog)}
	var ret remote.Int
	key := subKey{network: network}
	// The first event may follow the reply at once, so the reading goroutine itself notes the subscription.
	_, err := c.call(ctx, remote.ProgramRemote, register, args, &ret, func(uint32) {
		key.callback = ret.N
		c.mu.Lock()
		defer c.mu.Unlock()
		if c.subs != nil {
			c.subs[key] = s
		}
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
	if h.Program != remote.ProgramRemote || len(body) < 4 {
		return
	}
	key := subKey{network: h.Procedure == remote.ProcNetworkEventLifecycle, callback: int32(binary.BigEndian.Uint32(body))}
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
