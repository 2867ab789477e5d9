package vnetd

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net"
	"net/netip"
	"os"
	"sync"

	"taproom/internal/network/helper"
	"taproom/internal/network/lease"
	"taproom/internal/spec"
)

const (
	// eventQueue is how many events wait for a peer that does not read; then it is told that it missed some.
	eventQueue = 1024
	// page is how many networks one message lists: with the longest names they stay below helper.MaxMessage.
	page = 100
	// maxLookups is how many names are looked up for one peer at a time. Each may wait for a server that never answers.
	maxLookups = 16
)

// conn is one connection: a goroutine reads requests, another writes responses and events.
type conn struct {
	server *server
	socket net.Conn
	out    chan answer
	events chan helper.Event
	missed chan struct{}
	gone   chan struct{}
	once   sync.Once

	asking  chan struct{} // has room for the lookups that may be under way
	lookups sync.WaitGroup
}

// answer is a response with what goes with it.
type answer struct {
	helper.Response
	files []*os.File
}

// offer queues an event.
func (c *conn) offer(e helper.Event) {
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
		var r answer
		select {
		case <-c.gone:
			return
		case r = <-c.out:
		case e := <-c.events:
			r.Event = &e
		case <-c.missed:
			r.Event = &helper.Event{Missed: true}
		}
		b, err := json.Marshal(r.Response)
		if err != nil || len(b) > helper.MaxMessage {
			b = fmt.Appendf(nil, `{"id":%d,"error":"the answer does not fit into a message"}`, r.ID)
		}
		if len(r.files) == 0 {
			_, err = c.socket.Write(b)
		} else {
			err = c.server.kernel.SendFiles(c.socket, b, r.files...)
			closeAll(r.files)
		}
		if err != nil {
			return
		}
	}
}

func (c *conn) read() {
	defer c.lookups.Wait()
	defer c.end()
	buf := make([]byte, helper.MaxMessage+1)
	for {
		n, files, err := c.server.kernel.ReceiveFiles(c.socket, buf, helper.MaxFiles)
		if err != nil || n == 0 || n > helper.MaxMessage {
			closeAll(files)
			return
		}
		var q helper.Request
		d := json.NewDecoder(bytes.NewReader(buf[:n]))
		d.DisallowUnknownFields()
		if err := d.Decode(&q); err != nil {
			closeAll(files)
			return // not our protocol
		}
		var a answer
		switch q.Op {
		case helper.OpLookup:
			closeAll(files)
			if c.lookUp(q) {
				continue
			}
			err = fmt.Errorf("%d names are being looked up; try again", maxLookups)
		case helper.OpTake:
			closeAll(files)
			a.Has, a.files, err = c.server.networks.take(q.Network)
		case helper.OpLend:
			closeAll(files)
			a.Has, a.files, err = c.server.networks.lend(q.Network)
		default:
			a.Response, err = c.answer(q, files)
		}
		c.reply(q, a, err)
	}
}

// reply sends the answer to a request, or why there is none.
func (c *conn) reply(q helper.Request, a answer, err error) {
	a.ID = q.ID
	if err != nil {
		a.Response = helper.Response{ID: q.ID, Error: err.Error()}
	}
	select {
	case c.out <- a:
	case <-c.gone:
		closeAll(a.files)
	}
}

// lookUp answers about a name when it is known, while other requests are answered. It reports whether there was room.
func (c *conn) lookUp(q helper.Request) bool {
	select {
	case c.asking <- struct{}{}:
	default:
		return false
	}
	c.lookups.Go(func() {
		defer func() { <-c.asking }()
		n := c.server.networks.get(q.Network)
		if n == nil {
			c.reply(q, answer{}, fmt.Errorf("%s %s: %w", q.Op, q.Network, errUnknown))
			return
		}
		found, err := n.lookup(c.server.ctx, q.Name, q.Type)
		c.reply(q, answer{Response: helper.Response{Answer: &found}}, err)
	})
	return true
}

// answer does what is asked. It owns the files.
func (c *conn) answer(q helper.Request, files []*os.File) (helper.Response, error) {
	t := c.server.networks
	if q.Op == helper.OpSet {
		return helper.Response{}, t.set(q, files)
	}
	if q.Op == helper.OpCompact && len(files) == 1 {
		return helper.Response{}, c.compact(q, files[0])
	}
	closeAll(files)
	switch q.Op {
	case helper.OpHello:
		return helper.Response{Hello: c.server.hello()}, nil
	case helper.OpHas:
		return helper.Response{Has: t.has(q.Network)}, nil
	case helper.OpRemove:
		t.remove(q.Network)
		return helper.Response{}, nil
	case helper.OpList:
		return c.list(q), nil
	case helper.OpResolvers:
		t.names.SetUpstreams(q.Resolvers)
		return helper.Response{}, nil
	case helper.OpSubscribe:
		c.server.subscribe(c)
		return helper.Response{}, nil
	case helper.OpQuit:
		c.server.quit()
		return helper.Response{}, nil
	}
	n := t.get(q.Network)
	if n == nil {
		return helper.Response{}, fmt.Errorf("%s %s: %w", q.Op, q.Network, errUnknown)
	}
	switch q.Op {
	case helper.OpLeases:
		return leases(n.leases(), q), nil
	case helper.OpStats:
		s := n.statistics()
		return helper.Response{Stats: &s}, nil
	case helper.OpCommit:
		return helper.Response{}, n.commit()
	}
	return helper.Response{}, fmt.Errorf("%q is no operation", q.Op)
}

func (c *conn) compact(q helper.Request, to *os.File) error {
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

func (c *conn) list(q helper.Request) helper.Response {
	var r helper.Response
	if q.Network != (spec.UUID{}) {
		if n := c.server.networks.get(q.Network); n != nil {
			r.Networks = append(r.Networks, n.observed())
		}
		return r
	}
	after, _ := spec.ParseUUID(q.After) // the zero one, for a first page, comes before all others
	for _, n := range c.server.networks.sorted() {
		if id := n.config().UUID; bytes.Compare(id[:], after[:]) <= 0 {
			continue
		}
		if len(r.Networks) == page {
			r.More = true
			break
		}
		r.Networks = append(r.Networks, n.observed())
	}
	return r
}

func leases(all []lease.Record, q helper.Request) helper.Response {
	var r helper.Response
	room := helper.MaxMessage - 1024
	after, _ := netip.ParseAddr(q.After) // the zero one, for a first page, comes before all others
	for _, l := range all {
		if l.IP.Compare(after) <= 0 {
			continue
		}
		// What a lease takes beside its two texts; a full page stays below helper.MaxMessage.
		room -= 220 + len(l.ClientID) + len(l.Hostname)
		if room < 0 {
			r.More = true
			break
		}
		r.Leases = append(r.Leases, l)
	}
	return r
}
