package server

import (
	"errors"
	"io"
	"sync"
	"sync/atomic"

	"taproom/internal/api/remote"
	"taproom/internal/api/virterr"
)

const (
	// streamChunk is how much of a console travels in one message.
	streamChunk = 32 << 10
	// streamBacklog is how much input may wait for a guest that does not read its console.
	streamBacklog = 1 << 20
)

// stream is a console that a client has open. What the guest writes is read only as fast as the client takes it. What
// the client types waits in a bounded queue; a guest that does not take it loses the stream, not the connection.
type stream struct {
	conn    *conn
	header  remote.Header // of its messages; without status
	rw      io.ReadWriteCloser
	input   chan []byte
	pending atomic.Int64 // bytes in input
	done    chan struct{}
	once    sync.Once
	upload  bool // what the client sends is written at once: who sends faster than a disk takes it has to wait
	// download says that data only goes to the client; data from the client is dropped.
	download bool
	release  func() error // closes rw, once
}

// readOnly is an io.Reader where a stream wants more.
type readOnly struct{ io.Reader }

// Write implements io.Writer.
func (readOnly) Write(b []byte) (int, error) { return len(b), nil }

// Close implements io.Closer.
func (readOnly) Close() error { return nil }

// openStream makes a stream of the call's serial. It moves data once the reply has been written.
func (c *conn) openStream(q *request, rw io.ReadWriteCloser) error {
	s := &stream{rw: rw, input: make(chan []byte, 1024)}
	q.after = func() {
		c.calls.Go(s.output)
		c.calls.Go(s.feed)
	}
	return c.addStream(q, s)
}

// openDownload is openStream for data to the client only. Its source rw is closed before the client learns of the
// end: go-libvirt does not finish a stream that it has read to its end.
func (c *conn) openDownload(q *request, rw io.ReadWriteCloser) error {
	s := &stream{rw: rw, download: true}
	q.after = func() { c.calls.Go(s.output) }
	return c.addStream(q, s)
}

// openUpload is openStream for what only comes from the client. The client learns with the end of the stream whether all of
// it was written.
func (c *conn) openUpload(q *request, w io.ReadWriteCloser) error {
	return c.addStream(q, &stream{rw: w, upload: true})
}

// addStream closes what the stream is about when there is none: the client may have gone meanwhile.
func (c *conn) addStream(q *request, s *stream) (err error) {
	defer func() {
		if err != nil {
			_ = s.rw.Close()
		}
	}()
	h := q.header
	h.Type = remote.Stream
	s.conn, s.header, s.done, s.release = c, h, make(chan struct{}), sync.OnceValue(s.rw.Close)
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.streams == nil {
		c.streams = map[uint32]*stream{}
	}
	if c.streams[h.Serial] != nil {
		return virterr.New(virterr.RPC, "serial %d has a stream already", h.Serial)
	}
	select {
	case <-c.gone:
		return errGone
	default:
	}
	c.streams[h.Serial] = s
	return nil
}

// handleStream deals with what a client sends on a stream. What is for a stream that has ended is dropped: it was under way
// when the client was told of the end, and a client takes that for the answer it waits for. It hangs up at a second one.
func (c *conn) handleStream(h remote.Header, body []byte) error {
	c.mu.Lock()
	s := c.streams[h.Serial]
	c.mu.Unlock()
	if s == nil || s.header.Program != h.Program || s.header.Procedure != h.Procedure {
		return nil
	}
	if h.Status != remote.Continue {
		if _, err := s.finish(); err != nil && h.Status == remote.OK {
			return c.reject(s.header, err)
		}
		return c.confirm(s.header)
	}
	if len(body) == 0 || s.download {
		return nil
	}
	if s.upload {
		if _, err := s.rw.Write(body); err != nil {
			s.fail(err)
		}
		return nil
	}
	if s.pending.Add(int64(len(body))) > streamBacklog {
		s.fail(virterr.New(virterr.OperationFailed, "the guest does not read its console: %d bytes are waiting", streamBacklog))
		return nil
	}
	select {
	case s.input <- append([]byte(nil), body...):
	default:
		s.fail(virterr.New(virterr.OperationFailed, "the guest does not read its console"))
	}
	return nil
}

// confirm answers the end of a stream.
func (c *conn) confirm(h remote.Header) error {
	h.Status = remote.OK
	return c.out.send(remote.AppendRaw(c.srv.bufs.get(), h, nil))
}

// output carries what the guest writes to the client.
func (s *stream) output() {
	buf := make([]byte, streamChunk)
	for {
		n, err := s.rw.Read(buf)
		if n > 0 && s.sendData(buf[:n]) != nil {
			s.close()
			return
		}
		switch {
		case err == nil:
			continue
		case s.ended():
			return
		case errors.Is(err, io.EOF):
			if s.download {
				if err := s.release(); err != nil {
					s.fail(err)
					return
				}
			}
			_ = s.sendData(nil) // an empty message is the end; the client then finishes the stream
		default:
			s.fail(err)
		}
		return
	}
}

// feed carries what the client types to the guest.
func (s *stream) feed() {
	for {
		select {
		case <-s.done:
			return
		case b := <-s.input:
			_, err := s.rw.Write(b)
			s.pending.Add(-int64(len(b)))
			if err != nil {
				if !s.ended() {
					s.fail(err)
				}
				return
			}
		}
	}
}

func (s *stream) sendData(b []byte) error {
	if s.ended() {
		return errGone
	}
	h := s.header
	h.Status = remote.Continue
	return s.conn.out.send(remote.AppendRaw(s.conn.srv.bufs.get(), h, b))
}

func (s *stream) ended() bool {
	select {
	case <-s.done:
		return true
	default:
		return false
	}
}

// fail ends the stream and tells the client why.
func (s *stream) fail(err error) {
	if s.close() {
		_ = s.conn.reject(s.header, err) // a client that is gone is noticed by read
	}
}

// close ends the stream; it reports whether it was this call that did.
func (s *stream) close() (first bool) {
	first, _ = s.finish()
	return first
}

// finish is close, and says what came of it.
func (s *stream) finish() (first bool, err error) {
	s.once.Do(func() {
		first = true
		close(s.done)
		s.conn.mu.Lock()
		delete(s.conn.streams, s.header.Serial)
		s.conn.mu.Unlock()
		err = s.release()
	})
	return first, err
}

// closeStreams ends all streams of a client that is gone.
func (c *conn) closeStreams() {
	c.mu.Lock()
	open := make([]*stream, 0, len(c.streams))
	for _, s := range c.streams {
		open = append(open, s)
	}
	c.mu.Unlock()
	for _, s := range open {
		s.close()
	}
}
