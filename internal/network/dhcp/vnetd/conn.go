package vnetd

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net"
	"net/netip"
	"os"
	"sync"

	"taproom/internal/network/dhcp"
)

const (
	// eventQueue is how many events wait for a peer that does not read; then it is told that it missed some.
	eventQueue = 1024
	// page is how many networks one message lists: with the longest names they stay below dhcp.MaxMessage.
	page = 100
)

// conn is one connection: a goroutine reads requests, another writes responses and events.
type conn struct {
	server *server
	socket net.Conn
	out    chan dhcp.Response
	events chan dhcp.Event
	missed chan struct{}
	gone   chan struct{}
	once   sync.Once
}

// offer queues an event.
func (c *conn) offer(e dhcp.Event) {
	select {
	case c.events <- e:
		return
	default:
	}
	select {
	case c.missed <- struct{}{}:
	default:
	}
}

func (c *conn) end() {
	c.once.Do(func() {
		close(c.gone)
		c.server.leave(c)
		c.socket.Close()
	})
}

func (c *conn) write() {
	defer c.end()
	for {
		var r dhcp.Response
		select {
		case <-c.gone:
			return
		case r = <-c.out:
		case e := <-c.events:
			r.Event = &e
		case <-c.missed:
			r.Event = &dhcp.Event{Missed: true}
		}
		b, err := json.Marshal(r)
		if err != nil || len(b) > dhcp.MaxMessage {
			b = fmt.Appendf(nil, `{"id":%d,"error":"the answer does not fit into a message"}`, r.ID)
		}
		if _, err := c.socket.Write(b); err != nil {
			return
		}
	}
}

func (c *conn) read() {
	defer c.end()
	buf := make([]byte, dhcp.MaxMessage+1)
	for {
		n, files, err := c.server.kernel.ReceiveFiles(c.socket, buf, maxFiles)
		if err != nil || n == 0 || n > dhcp.MaxMessage {
			closeAll(files)
			return
		}
		var q dhcp.Request
		d := json.NewDecoder(bytes.NewReader(buf[:n]))
		d.DisallowUnknownFields()
		if err := d.Decode(&q); err != nil {
			closeAll(files)
			return // not our protocol
		}
		r, err := c.answer(q, files)
		r.ID = q.ID
		if err != nil {
			r = dhcp.Response{ID: q.ID, Error: err.Error()}
		}
		select {
		case c.out <- r:
		case <-c.gone:
			return
		}
	}
}

// answer does what is asked. It owns the files.
func (c *conn) answer(q dhcp.Request, files []*os.File) (dhcp.Response, error) {
	t := c.server.networks
	if q.Op == dhcp.OpSet {
		return dhcp.Response{}, t.set(files)
	}
	if q.Op == dhcp.OpCompact && len(files) == 1 {
		return dhcp.Response{}, c.compact(q, files[0])
	}
	closeAll(files)
	switch q.Op {
	case dhcp.OpHello:
		return dhcp.Response{Hello: &dhcp.Hello{Version: dhcp.WireVersion, PID: os.Getpid(), Landlock: c.server.options.Landlock}}, nil
	case dhcp.OpRemove:
		t.remove(q.Network)
		return dhcp.Response{}, nil
	case dhcp.OpList:
		return c.list(q), nil
	case dhcp.OpSubscribe:
		c.server.subscribe(c)
		return dhcp.Response{}, nil
	case dhcp.OpQuit:
		c.server.quit()
		return dhcp.Response{}, nil
	}
	n := t.get(q.Network)
	if n == nil {
		return dhcp.Response{}, fmt.Errorf("%s %s: %w", q.Op, q.Network, errUnknown)
	}
	switch q.Op {
	case dhcp.OpLeases:
		return leases(n.leases(), q), nil
	case dhcp.OpStats:
		s := n.statistics()
		return dhcp.Response{Stats: &s}, nil
	case dhcp.OpCommit:
		return dhcp.Response{}, n.commit()
	}
	return dhcp.Response{}, fmt.Errorf("%q is no operation", q.Op)
}

func (c *conn) compact(q dhcp.Request, to *os.File) error {
	n := c.server.networks.get(q.Network)
	err := fmt.Errorf("%s %s: %w", q.Op, q.Network, errUnknown)
	if n != nil {
		err = n.compact(to)
	}
	if err != nil {
		to.Close()
	}
	return err
}

func (c *conn) list(q dhcp.Request) dhcp.Response {
	var r dhcp.Response
	for _, n := range c.server.networks.sorted() {
		o := n.observed()
		if o.UUID.String() <= q.After {
			continue
		}
		if len(r.Networks) == page {
			r.More = true
			break
		}
		r.Networks = append(r.Networks, o)
	}
	return r
}

func leases(all []dhcp.Lease, q dhcp.Request) dhcp.Response {
	var r dhcp.Response
	room := dhcp.MaxMessage - 1024
	after, _ := netip.ParseAddr(q.After) // the zero one, for a first page, comes before all others
	for _, l := range all {
		if l.IP.Compare(after) <= 0 {
			continue
		}
		// What a lease takes beside its two texts; a full page stays below dhcp.MaxMessage.
		room -= 170 + len(l.ClientID) + len(l.Hostname)
		if room < 0 {
			r.More = true
			break
		}
		r.Leases = append(r.Leases, l)
	}
	return r
}
