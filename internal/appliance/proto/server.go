package proto

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"syscall"
)

// Handler does what a request asks for. The result may be nil. The context ends when the request is cancelled.
type Handler func(ctx context.Context, r *Call) (Message, error)

// Server is the guest's end: it reads requests and runs their handlers, each in a goroutine of its own but for those
// in Inline, which must not wait for anything.
type Server struct {
	Handlers map[Op]Handler
	Inline   map[Op]Handler

	tasks sync.WaitGroup
	write sync.Mutex
	conn  io.ReadWriter
	frame []byte

	mu    sync.Mutex
	calls map[uint32]*Call
}

// Call is a request that is being worked on.
type Call struct {
	id     uint32
	args   []byte
	server *Server
	cancel context.CancelCauseFunc
	in     *inlet
	out    [streams]*outlet
	after  func()
}

var errCancelled = errors.New("nobody waits for it any more")

// Args decodes the request.
func (r *Call) Args(m Message) error {
	if err := Decode(r.args, m); err != nil {
		return errors.Join(err, syscall.EBADMSG)
	}
	return nil
}

// In is the stream that the host sends. It ends with io.EOF. Once it is closed, nothing more is taken.
func (r *Call) In() io.ReadCloser { return r.in }

// Out is a stream to the host, StreamOut or StreamErr. Closing it is not needed at the end of the request.
func (r *Call) Out(stream int) io.WriteCloser { return r.out[stream] }

// Progress tells the host how far the request is, in bytes.
func (r *Call) Progress(done, total uint64) error {
	return r.server.message(KindProgress, r.id, &Progress{done, total})
}

// After runs f once the answer was sent, when the request did not fail.
func (r *Call) After(f func()) { r.after = f }

// Serve answers until the connection fails, and returns why: io.EOF when the host closed it. All requests have ended then.
func (s *Server) Serve(ctx context.Context, conn io.ReadWriter) error {
	ctx, cancel := context.WithCancel(ctx)
	s.conn, s.calls = conn, map[uint32]*Call{}
	frames := NewFrameReader(conn)
	var err error
	for err == nil {
		var f Frame
		if f, err = frames.Next(); err == nil {
			err = s.take(ctx, f)
		}
	}
	if errors.Is(err, ErrFrame) || errors.Is(err, ErrVersion) {
		_ = s.message(KindFailure, 0, &Failure{uint32(syscall.EPROTO), err.Error()})
	}
	cancel()
	s.mu.Lock()
	for _, r := range s.calls {
		r.abort(err)
	}
	s.mu.Unlock()
	s.tasks.Wait()
	return err
}

// take does what one frame says. An error loses the connection.
func (s *Server) take(ctx context.Context, f Frame) error {
	if f.Kind == KindRequest {
		return s.request(ctx, f)
	}
	s.mu.Lock()
	r := s.calls[f.ID]
	s.mu.Unlock()
	if r == nil {
		return nil // it has ended, and the host did not know yet
	}
	switch f.Kind {
	case KindCancel:
		r.abort(errCancelled)
		return nil
	case KindData:
		if f.Sub != StreamIn {
			return fmt.Errorf("data of stream %d from the host: %w", f.Sub, ErrFrame)
		}
		return r.in.push(f.Payload)
	case KindCredit:
		var c Credit
		if err := Decode(f.Payload, &c); err != nil {
			return fmt.Errorf("%w: %w", err, ErrFrame)
		}
		if f.Sub != StreamOut && f.Sub != StreamErr {
			return fmt.Errorf("credit for stream %d: %w", f.Sub, ErrFrame)
		}
		return r.out[f.Sub].add(c.Bytes)
	}
	return fmt.Errorf("kind %d from the host: %w", f.Kind, ErrFrame)
}

// request begins one.
func (s *Server) request(ctx context.Context, f Frame) error {
	op := Op(f.Sub)
	inline, h := s.Inline[op], s.Handlers[op]
	if inline == nil && h == nil {
		return s.fail(f.ID, fmt.Errorf("%s is not known here: %w", op, syscall.ENOSYS))
	}
	r := &Call{id: f.ID, server: s}
	if inline != nil {
		r.args = f.Payload
		return s.run(ctx, inline, r)
	}
	r.args = append([]byte(nil), f.Payload...)
	s.mu.Lock()
	full, twice := len(s.calls) >= MaxInFlight, s.calls[f.ID] != nil
	if !full && !twice {
		s.calls[f.ID] = r
	}
	s.mu.Unlock()
	switch {
	case twice:
		return fmt.Errorf("request %d begins twice: %w", f.ID, ErrFrame)
	case full:
		return s.fail(f.ID, fmt.Errorf("busy with %d requests: %w", MaxInFlight, syscall.EBUSY))
	}
	ctx, r.cancel = context.WithCancelCause(ctx)
	r.open()
	s.tasks.Go(func() {
		_ = s.run(ctx, h, r) // the reader sees a connection that is gone, and ends
		r.cancel(nil)
	})
	return nil
}

// open makes the request's streams.
func (r *Call) open() {
	r.in = newInlet(func(n int) {
		_ = r.server.grant(r.id, n)
	})
	for _, stream := range []uint8{StreamOut, StreamErr} {
		r.out[stream] = newOutlet(func(b []byte) error {
			return r.server.send(Frame{Kind: KindData, Sub: stream, ID: r.id, Payload: b})
		})
	}
}

// abort makes the request end soon.
func (r *Call) abort(why error) {
	if r.cancel == nil {
		return
	}
	r.cancel(why)
	r.in.fail(why)
	r.out[StreamOut].fail(why)
	r.out[StreamErr].fail(why)
}

// run runs a handler and sends what became of it.
func (s *Server) run(ctx context.Context, h Handler, r *Call) error {
	result, err := h(ctx, r)
	var b []byte
	if err == nil && result != nil {
		b, err = Encode(result)
	}
	s.mu.Lock()
	if s.calls[r.id] == r {
		delete(s.calls, r.id)
	}
	s.mu.Unlock()
	if err != nil {
		return s.fail(r.id, err)
	}
	if err := s.send(Frame{Kind: KindAnswer, ID: r.id, Payload: b}); err != nil {
		return err
	}
	if r.after != nil {
		r.after()
	}
	return nil
}

// fail sends why a request failed.
func (s *Server) fail(id uint32, err error) error {
	var errno syscall.Errno
	_ = errors.As(err, &errno)
	text := err.Error()
	return s.message(KindFailure, id, &Failure{uint32(errno), text[:min(len(text), maxString)]})
}

func (s *Server) grant(id uint32, n int) error {
	b, err := Encode(&Credit{uint32(n)})
	if err != nil {
		return err
	}
	return s.send(Frame{Kind: KindCredit, Sub: StreamIn, ID: id, Payload: b})
}

func (s *Server) message(kind Kind, id uint32, m Message) error {
	b, err := Encode(m)
	if err != nil {
		return err
	}
	return s.send(Frame{Kind: kind, ID: id, Payload: b})
}

// send writes one frame. Its memory is used again.
func (s *Server) send(f Frame) error {
	s.write.Lock()
	defer s.write.Unlock()
	s.frame = f.Append(s.frame[:0])
	_, err := s.conn.Write(s.frame)
	return err
}
