package vnetd

import (
	"context"
	"fmt"
	"slices"
	"sync"

	"taproom/internal/network/dns"
	"taproom/internal/network/helper"
	"taproom/internal/network/lease"
)

// speakers are the servers of one network that live on sockets of their own.
type speakers struct {
	dns     *dns.Server
	sockets []string // the names of what it listens on
	stop    context.CancelFunc
	over    sync.WaitGroup
}

// speak makes the servers be as a configuration says. Those whose sockets stay the same go on without a gap.
func (s *speakers) speak(t *networks, c helper.Network, h held, leases []lease.Lease) error {
	if c.DNS == nil {
		s.hush()
		return nil
	}
	fresh := s.dns == nil
	if fresh {
		server, err := dns.New(*c.DNS, t.names)
		if err != nil {
			return fmt.Errorf("serve names on %s: %w", c.Bridge, err)
		}
		s.dns = server
	} else if err := s.dns.SetConfig(*c.DNS); err != nil {
		return fmt.Errorf("serve names on %s: %w", c.Bridge, err)
	}
	if fresh {
		for _, l := range leases {
			s.name(lease.Change{Kind: lease.Added, Lease: l})
		}
	}
	sockets, names := h.sockets()
	if slices.Equal(names, s.sockets) {
		return nil
	}
	s.deafen()
	ctx, cancel := context.WithCancel(t.ctx)
	s.sockets, s.stop = names, cancel
	server := s.dns
	s.over.Go(func() {
		if err := server.Serve(ctx, sockets); err != nil {
			t.report(helper.Event{Network: c.UUID, Failed: "serve names: " + err.Error()})
		}
	})
	return nil
}

// name lets a client's name be found, or no more.
func (s *speakers) name(c lease.Change) {
	if s.dns == nil {
		return
	}
	name := c.Lease.Hostname
	if c.Kind == lease.Deleted {
		name = ""
	}
	s.dns.SetLease(c.Lease.IP, name)
}

// deafen stops listening.
func (s *speakers) deafen() {
	if s.stop != nil {
		s.stop()
		s.over.Wait()
		s.stop, s.sockets = nil, nil
	}
}

// hush ends the servers.
func (s *speakers) hush() {
	s.deafen()
	if s.dns != nil {
		s.dns.Close()
		s.dns = nil
	}
}
