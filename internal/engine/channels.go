package engine

import (
	"context"
	"encoding/json"
	"errors"
	"maps"
	"sync"

	"taproom/internal/api/server"
	"taproom/internal/qemu/qmp"
)

// errChannelClosed is why a conversation ends when the guest lets go of its channel: it restarts, or its agent does.
var errChannelClosed = errors.New("the guest closed its end of the channel: it ended or restarted")

// channels are the virtio channels that a guest has open on its side, by alias.
type channels struct {
	mu     sync.Mutex
	opened map[string]chan struct{} // closed when the guest closes the channel
	change chan struct{}            // closed at the next change, when somebody waits for one
	over   bool
}

// set notes what the guest did and reports whether it is news.
func (c *channels) set(alias string, open bool) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	was := c.opened[alias]
	switch {
	case open == (was != nil) || c.over:
		return false
	case open:
		if c.opened == nil {
			c.opened = map[string]chan struct{}{}
		}
		c.opened[alias] = make(chan struct{})
	default:
		close(was)
		delete(c.opened, alias)
	}
	c.notify()
	return true
}

// notify wakes who waits. The lock is held.
func (c *channels) notify() {
	if c.change != nil {
		close(c.change)
		c.change = nil
	}
}

// end is the guest's end: nothing opens any more.
func (c *channels) end() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.over = true
	c.closeAll()
}

// reset is a guest that begins afresh. QEMU tells of each channel too, but no oftener than once a second.
func (c *channels) reset() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.closeAll()
}

// closeAll closes every channel. The lock is held.
func (c *channels) closeAll() {
	for alias, was := range c.opened {
		close(was)
		delete(c.opened, alias)
	}
	c.notify()
}

// connected is what a document shows.
func (c *channels) connected() map[string]bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	out := map[string]bool{}
	for alias := range maps.Keys(c.opened) {
		out[alias] = true
	}
	return out
}

// await waits until the guest has the channel open, and returns what is closed when it has no longer.
func (c *channels) await(ctx context.Context, alias string) (closed <-chan struct{}, err error) {
	for {
		c.mu.Lock()
		was, over := c.opened[alias], c.over
		if c.change == nil {
			c.change = make(chan struct{})
		}
		change := c.change
		c.mu.Unlock()
		switch {
		case was != nil:
			return was, nil
		case over:
			return nil, errChannelClosed
		}
		select {
		case <-change:
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
}

// now is what is closed when the guest closes a channel that it has open; nil when it has not.
func (c *channels) now(alias string) <-chan struct{} {
	c.mu.Lock()
	defer c.mu.Unlock()
	if was := c.opened[alias]; was != nil {
		return was
	}
	return nil
}

// onChannel is a guest that opened or closed its side of a virtio channel.
func (e *Engine) onChannel(_ context.Context, d *domain, run *running, ev qmp.Event) {
	var data struct {
		ID   string `json:"id"`
		Open bool   `json:"open"`
	}
	late := ev.Time.Before(run.resets.last) // see channels.reset
	if json.Unmarshal(ev.Data, &data) != nil || late || !run.channels.set(data.ID, data.Open) {
		return
	}
	for _, c := range run.live(false).Devices.Channels {
		if c.Alias == nil || c.Alias.Name != data.ID || c.Target == nil || c.Target.Name != guestAgent {
			continue
		}
		state := int32(server.AgentDisconnected)
		if data.Open {
			state = server.AgentConnected
		}
		e.publish(server.DomainAgentLifecycle{Domain: d.view().ref, State: state, Reason: server.AgentReasonChannel})
	}
}

// guestAgent is the channel of QEMU's guest agent, the only one that libvirt's clients are told of.
const guestAgent = "org.qemu.guest_agent.0"
