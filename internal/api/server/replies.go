package server

import (
	"errors"
	"reflect"
	"sync"
	"sync/atomic"
	"time"

	"taproom/internal/api/remote"
	"taproom/internal/api/xdr"
)

const (
	// stalled is how long a client may take nothing of a reply before it is disconnected where others wait for the memory.
	stalled = 2 * time.Second
	// patience is how often a call waits for so long before its reply is made in spite of the budget: calls that hang hold memory
	// that cutStalled cannot free.
	patience = 3
	// window is how many bytes of replies a connection may have claimed at a time, or a single reply of any size.
	window = 32 << 10
	// leastQuery is the least part of the window that a query takes: a goroutine that waits for the client takes as much.
	leastQuery = 4 << 10
	// oneObject is the expected size of the first reply about a single object: all calls that run for a connection fit its window.
	oneObject = 512
	// costly is from which size on replies are made in turns.
	costly = 8 << 10
	// thinking is how long the making of a large reply holds up others. A call that takes longer waits for something else.
	thinking = 100 * time.Millisecond
)

// expectation is how many bytes the reply of a procedure takes: the most of late.
type expectation struct{ n atomic.Int64 }

// begin knows the size of replies without a value and of fixed size (a domain's handle, its state). Any other procedure's first
// reply is expected to be large, so that clients that make many calls at once begin with a single call.
func (e *expectation) begin(ret xdr.Value) {
	switch {
	case isVoid(ret):
		e.n.Store(remote.HeaderSize)
	case hasAnyLength(reflect.TypeOf(ret)):
		e.n.Store(FreeMessage + 1)
	default:
		e.n.Store(oneObject)
	}
}

func isVoid(ret xdr.Value) bool {
	_, void := ret.(*xdr.Void)
	return void
}

// hasAnyLength reports whether a result is a list or a document.
func hasAnyLength(t reflect.Type) bool {
	switch t {
	case reflect.TypeFor[remote.String](), reflect.TypeFor[remote.OptString]():
		return true
	}
	switch t.Kind() {
	case reflect.Slice, reflect.Interface:
		return true
	case reflect.Pointer, reflect.Array:
		return hasAnyLength(t.Elem())
	case reflect.Struct:
		for i := range t.NumField() {
			if hasAnyLength(t.Field(i).Type) {
				return true
			}
		}
	}
	return false
}

// observe learns from a reply. Each smaller reply lowers the expectation by up to an eighth.
func (e *expectation) observe(size int) {
	if n := e.n.Load(); int64(size) != n {
		e.n.Store(max(int64(size), n-(n+7)/8))
	}
}

// reservation is the memory and the turn that a call has reserved for its reply.
type reservation struct {
	window int64 // of the connection's window, which no budget counts
	budget int64 // of the budget for large replies
	made   func()
}

// reserve waits until the reply of a call may be made: until the client has read earlier replies, and for a large reply until
// there is memory. Only this client waits.
func (c *conn) reserve(e *entry) (r reservation, err error) {
	defer func() {
		if err != nil {
			c.unreserve(r)
			r = reservation{}
		}
	}()
	n := e.expected.n.Load()
	quick := e.Has(remote.Quick) // a connection runs a single quick call at a time
	if !quick {
		r.window = n
		if e.Has(remote.Priority) {
			r.window = max(n, leastQuery)
		}
		if !c.out.claim(r.window) {
			r.window = 0
			return r, errGone
		}
	}
	if n > FreeMessage {
		if r.budget, err = c.awaitReplyBytes(n, c.srv.stopping); err != nil {
			return r, err
		}
	}
	if n > costly && !quick {
		r.made, err = c.beginMaking()
	}
	return r, err
}

// beginMaking waits for a turn to make a large reply: while it is made it takes a multiple of its size, and a processor. A
// user gets up to half of the turns.
func (c *conn) beginMaking() (end func(), err error) {
	if err := c.srv.making.acquire(c.peer.UID, 1, c.srv.stopping, nil); err != nil {
		return nil, err
	}
	release := sync.OnceFunc(func() { c.srv.making.release(c.peer.UID, 1) })
	t := time.AfterFunc(thinking, release)
	return func() { t.Stop(); release() }, nil
}

// endMaking gives the turn to others.
func (r *reservation) endMaking() {
	if r.made != nil {
		r.made()
		r.made = nil
	}
}

// settle corrects a reservation once the reply is known. While others hold the memory for it, it waits; a client that takes
// nothing of the replies it has is disconnected instead, since a reply that is made and waits is not counted.
func (c *conn) settle(r *reservation, size int64) (err error) {
	r.endMaking()
	if size > r.window && r.window > 0 {
		c.out.adjust(size - r.window)
		r.window = size
	}
	if size <= FreeMessage || size <= r.budget {
		return nil
	}
	c.releaseReplyBytes(r.budget) // or the user's share would never have room for a reply that is larger than it
	r.budget, err = c.takeReplyBytes(size, c.srv.ctx.Done(), func() bool {
		if c.out.stalledFor() < stalled {
			return false
		}
		c.cut("client makes more large calls than it reads replies of, disconnecting it", size)
		return true
	})
	return err
}

// awaitReplyBytes takes bytes of the budget for a large reply that is to be made.
func (c *conn) awaitReplyBytes(n int64, stop <-chan struct{}) (taken int64, err error) {
	return c.takeReplyBytes(n, stop, func() bool { return false })
}

// takeReplyBytes takes bytes of the budget for large replies. While it waits, clients that take nothing of theirs are
// disconnected, and so is this client when hopeless returns true. The wait ends without the bytes after patience times stalled.
func (c *conn) takeReplyBytes(n int64, stop <-chan struct{}, hopeless func() bool) (taken int64, err error) {
	b := c.srv.replies
	if w := b.claim(c.peer.UID, n); w != nil {
		err := c.awaitClaim(w, stop, hopeless)
		if err != nil {
			err = b.withdraw(w, err)
		}
		switch {
		case errors.Is(err, errLate):
			return 0, nil
		case err != nil:
			return 0, err
		}
	}
	c.large.Add(n)
	return n, nil
}

func (c *conn) awaitClaim(w *claim, stop <-chan struct{}, hopeless func() bool) error {
	late := time.NewTicker(stalled)
	defer late.Stop()
	for range patience {
		if hopeless() {
			return errGone
		}
		c.srv.cutStalled() // the first look may only begin the count
		select {
		case <-w.granted:
			return nil
		case <-stop:
			return errGone
		case <-late.C:
		}
		if c.out.isDead() {
			return errGone
		}
	}
	if hopeless() {
		return errGone
	}
	c.srv.cutStalled()
	return errLate
}

// unreserve gives a reservation back.
func (c *conn) unreserve(r reservation) {
	r.endMaking()
	if r.window > 0 {
		c.out.adjust(-r.window)
	}
	c.releaseReplyBytes(r.budget)
}

func (c *conn) releaseReplyBytes(n int64) {
	if n > 0 {
		c.large.Add(-n)
		c.srv.replies.release(c.peer.UID, n)
	}
}

// cutStalled disconnects the clients that hold memory for large replies and take nothing of them.
func (s *Server) cutStalled() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for c := range s.conns {
		if n := c.large.Load(); n > 0 && c.out.stalledFor() >= stalled {
			c.cut("client does not read its replies, disconnecting it", n)
		}
	}
}

// cut disconnects a client because of replies that wait for it, and logs the client's process, user and program.
func (c *conn) cut(why string, bytes int64) {
	if c.out.kill() {
		c.logCut(why, bytes)
	}
}

func (c *conn) logCut(why string, bytes int64) {
	c.srv.log.Warn(why, "client", c.id, "pid", c.peer.PID, "uid", c.peer.UID, "program", c.srv.opts.ClientName(c.peer.PID), "bytes", bytes)
}
