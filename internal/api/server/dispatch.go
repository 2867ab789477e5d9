package server

import (
	"context"
	"os"
	"runtime/debug"

	"taproom/internal/api/remote"
	"taproom/internal/api/virterr"
	"taproom/internal/api/xdr"
)

// request is one call.
type request struct {
	ctx     context.Context
	conn    *conn
	backend Backend
	header  remote.Header
	after   func()     // runs when the reply has been written
	files   []*os.File // that came with the call; they are closed when it ends
	given   []*os.File // that go with the reply
}

// invocation is a call whose arguments have been read.
type invocation interface {
	run(q *request) error
	result() xdr.Value
}

// entry is a row of the protocol's table with what answers it.
type entry struct {
	remote.Procedure
	read     func(body []byte) (invocation, error)
	expected expectation // the size of a reply
}

// program is the entries of one program, by number.
type program struct{ entries []*entry }

func newProgram(table []remote.Procedure) *program {
	last := uint32(0)
	for i := range table {
		last = max(last, table[i].Number)
	}
	p := &program{entries: make([]*entry, last+1)}
	for i := range table {
		e := &entry{Procedure: table[i]}
		e.expected.begin(e.NewRet())
		p.entries[table[i].Number] = e
	}
	return p
}

func (p *program) find(procedure uint32) *entry {
	if int64(procedure) >= int64(len(p.entries)) {
		return nil
	}
	return p.entries[procedure]
}

// bound is arguments, result and what makes one of the other, in one allocation.
type bound[A, R any, PA pointer[A], PR pointer[R]] struct {
	a A
	r R
	f func(q *request, a *A, r *R) error
}

type pointer[T any] interface {
	*T
	xdr.Value
}

func (b *bound[A, R, PA, PR]) run(q *request) error { return b.f(q, &b.a, &b.r) }
func (b *bound[A, R, PA, PR]) result() xdr.Value    { return PR(&b.r) }

// bind says what answers a procedure. The types must be those of the table; TestEveryProcedureIsBound holds it.
func bind[A, R any, PA pointer[A], PR pointer[R]](p *program, number uint32, f func(q *request, a *A, r *R) error) {
	f = checked(number, p.entries[number].Name, f)
	p.entries[number].read = func(body []byte) (invocation, error) {
		b := &bound[A, R, PA, PR]{f: f}
		return b, xdr.Decode(body, PA(&b.a))
	}
}

// handle deals with one message and closes the files that came with it. An error ends the connection.
func (c *conn) handle(h remote.Header, body []byte, files []*os.File) error {
	e, inv, err := c.prepare(h, body)
	if err != nil || inv == nil {
		closeFiles(files)
		return err
	}
	return c.call(h, e, inv, files)
}

// prepare reads a call. What is no call, or cannot be made, is dealt with here.
func (c *conn) prepare(h remote.Header, body []byte) (*entry, invocation, error) {
	nothing := func(err error) (*entry, invocation, error) { return nil, nil, err }
	switch {
	case h.Program == remote.ProgramKeepalive:
		if h.Procedure == remote.KeepalivePing && h.Type == remote.Message {
			c.postKeepalive(remote.KeepalivePong)
		}
		return nothing(nil)
	case h.Type == remote.Stream:
		return nothing(c.handleStream(h, body))
	case h.Type != remote.Call && h.Type != remote.CallWithFDs:
		return nothing(c.reject(h, virterr.New(virterr.RPC, "Unexpected message type %d", h.Type)))
	case h.Status != remote.OK:
		return nothing(c.reject(h, virterr.New(virterr.RPC, "Unexpected message status %d", h.Status)))
	}
	p := c.srv.programs[h.Program]
	if p == nil || h.Version != remote.Version {
		return nothing(c.reject(h, virterr.New(virterr.RPC, "Cannot find program %d version %d", h.Program, h.Version)))
	}
	e := p.find(h.Procedure)
	if e == nil {
		return nothing(c.reject(h, virterr.Unsupported(callName(h.Program, h.Procedure))))
	}
	if err := c.admit(e); err != nil {
		return nothing(c.reject(h, err))
	}
	inv, err := e.read(body)
	if err != nil {
		return nothing(c.reject(h, virterr.New(virterr.RPC, "Unable to decode the arguments of %s: %w", e.Name, err)))
	}
	return e, inv, nil
}

// admit decides whether the connection may make the call at all.
func (c *conn) admit(e *entry) error {
	c.mu.Lock()
	open, readOnly := c.open, c.readOnly
	c.mu.Unlock()
	switch {
	case !open && !e.Has(remote.BeforeOpen):
		return virterr.New(virterr.InternalError, "hypervisor connection not open").In(virterr.FromRPC)
	case readOnly && !e.Has(remote.ReadOnly):
		return virterr.New(virterr.OperationDenied, "read only access prevents %s", apiName(e.Name)).In(virterr.FromDom)
	}
	return nil
}

// call runs the call: here when it is quick, on a goroutine of its own otherwise.
func (c *conn) call(h remote.Header, e *entry, inv invocation, files []*os.File) error {
	r, err := c.reserve(e)
	if err != nil {
		closeFiles(files)
		return err
	}
	if e.Has(remote.Quick) {
		return c.answer(h, e, inv, files, r)
	}
	slots := c.slots
	if e.Has(remote.Priority) {
		slots = c.priority
	}
	select {
	case slots <- struct{}{}:
	case <-c.srv.stopping:
		c.unreserve(r)
		closeFiles(files)
		return errGone
	}
	c.calls.Go(func() {
		defer func() { <-slots }()
		_ = c.answer(h, e, inv, files, r) // a client that is gone is noticed by read
	})
	return nil
}

// answer runs the call, writes its reply, and releases the reply's reservation.
func (c *conn) answer(h remote.Header, e *entry, inv invocation, files []*os.File, r reservation) error {
	defer func() { c.unreserve(r) }()
	q := &request{ctx: c.srv.ctx, conn: c, backend: c.srv.backend, header: h, files: files}
	defer func() { closeFiles(q.files); closeFiles(q.given) }()
	if err := c.guarded(q, e, inv); err != nil {
		return c.reject(h, err)
	}
	reply := h
	reply.Type, reply.Status = remote.Reply, remote.OK
	if len(q.given) > 0 {
		return c.answerWithFiles(q, reply, inv)
	}
	buf, err := remote.Append(c.srv.bufs.sized(r.budget), reply, inv.result())
	if err != nil {
		c.srv.log.Error("encode a reply", "procedure", e.Name, "error", err)
		return c.reject(h, virterr.New(virterr.RPC, "Unable to encode the reply of %s: %w", e.Name, err))
	}
	e.expected.observe(len(buf))
	if err := c.settle(&r, int64(len(buf))); err != nil {
		return err
	}
	if err := c.out.send(buf); err != nil {
		return err
	}
	if q.after != nil {
		q.after()
	}
	return nil
}

// answerWithFiles writes a reply that descriptors follow.
func (c *conn) answerWithFiles(q *request, reply remote.Header, inv invocation) error {
	reply.Type = remote.ReplyWithFDs
	buf, err := remote.AppendWithFDs(c.srv.bufs.get(), reply, len(q.given), inv.result())
	if err != nil {
		return c.reject(q.header, virterr.New(virterr.RPC, "Unable to encode a reply: %w", err))
	}
	return c.out.sendFiles(buf, q.given)
}

// guarded runs the call; a panic becomes its error.
func (c *conn) guarded(q *request, e *entry, inv invocation) (err error) {
	defer func() {
		if p := recover(); p != nil {
			c.srv.log.Error("panic in a call", "procedure", e.Name, "panic", p, "stack", string(debug.Stack()))
			err = virterr.New(virterr.InternalError, "%s failed unexpectedly: %v (this is a bug; the daemon's log has the stack)", e.Name, p)
		}
	}()
	return inv.run(q)
}

// reject answers with an error.
func (c *conn) reject(h remote.Header, err error) error {
	if virterr.CodeOf(err) == virterr.NoSupport {
		c.missed(h)
	}
	reply := h
	reply.Type, reply.Status = remote.Reply, remote.Failed
	if h.Type == remote.Stream {
		reply.Type = remote.Stream
	}
	buf, e := remote.Append(c.srv.bufs.get(), reply, wireError(err))
	if e != nil { // a message of megabytes
		buf, e = remote.Append(c.srv.bufs.get(), reply, wireError(virterr.New(virterr.InternalError, "the error is too long to be sent")))
		if e != nil {
			return e
		}
	}
	return c.out.send(buf)
}
