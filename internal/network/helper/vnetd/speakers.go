package vnetd

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"reflect"
	"slices"
	"sync"
	"time"

	"taproom/internal/network/dns"
	"taproom/internal/network/helper"
	"taproom/internal/network/lease"
	"taproom/internal/network/tftp"
)

// speakers are the servers of one network that live on sockets of their own.
type speakers struct {
	dns   *dns.Server
	names voice
	files voice
	ports ports
}

// voice is a server that runs, on descriptors whose names it is known by.
type voice struct {
	on   []string
	stop context.CancelFunc
	over sync.WaitGroup
}

// be has a server run on descriptors. The one that runs on the same ones goes on, another one ends first; one on none ends.
func (v *voice) be(t *networks, on []string, serve func(context.Context) error) {
	if slices.Equal(on, v.on) {
		return
	}
	v.end()
	if len(on) == 0 {
		return
	}
	ctx, cancel := context.WithCancel(t.ctx)
	v.on, v.stop = on, cancel
	v.over.Go(func() {
		if err := serve(ctx); err != nil {
			t.report(helper.Event{Failed: err.Error()})
		}
	})
}

func (v *voice) end() {
	if v.stop != nil {
		v.stop()
		v.over.Wait()
		v.stop, v.on = nil, nil
	}
}

// speak makes the servers be as a configuration says. Those whose sockets stay the same go on without a gap.
func (s *speakers) speak(t *networks, c helper.Network, h held, leases []lease.Lease) error {
	if err := s.speakNames(t, c, h, leases); err != nil {
		return fmt.Errorf("serve names on %s: %w", c.Bridge, err)
	}
	s.speakFiles(t, c, h)
	s.ports.lead(t, c, h)
	return nil
}

func (s *speakers) speakNames(t *networks, c helper.Network, h held, leases []lease.Lease) error {
	switch {
	case c.DNS == nil:
		s.names.end()
		if s.dns != nil {
			s.dns.Close()
			s.dns = nil
		}
		return nil
	case s.dns != nil && reflect.DeepEqual(s.dns.Config(), *c.DNS):
	case s.dns != nil:
		if err := s.dns.SetConfig(*c.DNS); err != nil {
			return err
		}
		s.introduce(leases) // a name may be one of another domain now
	default:
		server, err := dns.New(*c.DNS, t.names)
		if err != nil {
			return err
		}
		s.dns = server
		s.introduce(leases)
	}
	server := s.dns
	udp, tcp, on := h.sockets(helper.DescDNS)
	sockets := dns.Sockets{UDP: udp, TCP: tcp}
	s.names.be(t, on, func(ctx context.Context) error { return server.Serve(ctx, sockets) })
	return nil
}

func (s *speakers) speakFiles(t *networks, c helper.Network, h held) {
	dir := h.file(helper.DescFolder)
	var on []string
	var conns []*net.UDPConn
	for _, name := range h.names() {
		switch kind, _ := helper.ParseDescriptor(name); kind {
		case helper.DescFolder:
			on = append(on, name)
		case helper.DescTFTP:
			if conn, ok := h[name].(*net.UDPConn); ok {
				on, conns = append(on, name), append(conns, conn)
			}
		}
	}
	if c.TFTP == nil || dir == nil || len(conns) == 0 {
		s.files.end()
		return
	}
	s.files.be(t, on, func(ctx context.Context) error {
		return serveFiles(ctx, conns, dir, tftp.Options{Root: c.TFTP.Root, Total: t.transfers})
	})
}

func serveFiles(ctx context.Context, conns []*net.UDPConn, dir *os.File, o tftp.Options) error {
	var all sync.WaitGroup
	errs := make([]error, len(conns))
	for i, conn := range conns {
		_ = conn.SetReadDeadline(time.Time{}) // of a server before this one
		all.Go(func() { errs[i] = tftp.Serve(ctx, conn, dir, o) })
	}
	all.Wait()
	return errors.Join(errs...)
}

func (s *speakers) introduce(leases []lease.Lease) {
	for _, l := range leases {
		s.name(lease.Change{Kind: lease.Added, Lease: l})
	}
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

// hush ends the servers.
func (s *speakers) hush() {
	s.files.end()
	s.names.end()
	s.ports.close()
	if s.dns != nil {
		s.dns.Close()
		s.dns = nil
	}
}
