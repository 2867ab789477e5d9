package client

import (
	"context"
	"errors"
	"io"
	"sync"

	"taproom/internal/api/remote"
	"taproom/internal/api/xdr"
)

// streamBacklog is how much of a console may wait for a reader before the stream is given up.
const streamBacklog = 4 << 20

// Stream is a console or channel that is open: an io.ReadWriteCloser.
type Stream struct {
	c      *Client
	header remote.Header

	mu    sync.Mutex
	ready sync.Cond
	data  []byte
	err   error // what Read returns when data is used up
}

// OpenConsole connects to a console, serial port or channel of a running domain by its alias; "" is the first console.
func (c *Client) OpenConsole(ctx context.Context, d remote.Domain, device string, flags uint32) (*Stream, error) {
	return c.openStream(ctx, remote.ProcDomainOpenConsole, d, device, flags)
}

// OpenChannel connects to a channel of a running domain that is a unix socket on the host, by its alias or by what the guest calls
// it; "" is the first one.
func (c *Client) OpenChannel(ctx context.Context, d remote.Domain, name string, flags uint32) (*Stream, error) {
	return c.openStream(ctx, remote.ProcDomainOpenChannel, d, name, flags)
}

func (c *Client) openStream(ctx context.Context, procedure uint32, d remote.Domain, device string, flags uint32) (*Stream, error) {
	s := &Stream{c: c}
	s.ready.L = &s.mu
	args := remote.DomainOptStringFlags{Domain: d, S: remote.OptNonEmpty(device), Flags: flags}
	_, err := c.call(ctx, remote.ProgramRemote, procedure, &args, &xdr.Void{}, func(serial uint32) {
		s.header = remote.Header{
			Program: remote.ProgramRemote, Version: remote.Version, Procedure: procedure,
			Type: remote.Stream, Serial: serial, Status: remote.Continue,
		}
		c.mu.Lock()
		defer c.mu.Unlock()
		if c.streams != nil {
			c.streams[serial] = s
		}
	})
	if err != nil {
		return nil, err
	}
	return s, nil
}

// Read returns what the guest wrote, and io.EOF when the guest is gone.
func (s *Stream) Read(b []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for len(s.data) == 0 && s.err == nil {
		s.ready.Wait()
	}
	if len(s.data) == 0 {
		return 0, s.err
	}
	n := copy(b, s.data)
	s.data = s.data[n:]
	return n, nil
}

// Write sends b to the guest.
func (s *Stream) Write(b []byte) (int, error) {
	for sent := 0; sent < len(b); {
		s.mu.Lock()
		err := s.err
		s.mu.Unlock()
		if err != nil {
			return sent, err
		}
		n := min(len(b)-sent, 32<<10)
		if err := s.c.writeRaw(s.header, b[sent:sent+n]); err != nil {
			return sent, err
		}
		sent += n
	}
	return len(b), nil
}

// Close ends the stream. Read and Write return io.ErrClosedPipe from then on.
func (s *Stream) Close() error {
	s.c.mu.Lock()
	open := s.c.streams[s.header.Serial] == s
	delete(s.c.streams, s.header.Serial)
	s.c.mu.Unlock()
	s.finish(io.ErrClosedPipe)
	if !open {
		return nil
	}
	h := s.header
	h.Status = remote.OK
	err := s.c.writeRaw(h, nil)
	if errors.Is(err, ErrClosed) {
		return nil
	}
	return err
}

func (s *Stream) finish(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.err == nil || errors.Is(err, io.ErrClosedPipe) {
		s.err = err
	}
	s.ready.Broadcast()
}

// push adds data; it reports false when too much waits.
func (s *Stream) push(b []byte) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.data)+len(b) > streamBacklog {
		return false
	}
	s.data = append(s.data, b...)
	s.ready.Broadcast()
	return true
}

// stream deals with a message of a stream.
func (c *Client) stream(h remote.Header, body []byte) {
	c.mu.Lock()
	s := c.streams[h.Serial]
	if s != nil && h.Status != remote.Continue {
		delete(c.streams, h.Serial)
	}
	c.mu.Unlock()
	switch {
	case s == nil: // closed meanwhile
	case h.Status == remote.Failed:
		s.finish(decodeError(body))
	case h.Status == remote.OK || len(body) == 0:
		s.finish(io.EOF)
	case !s.push(body):
		s.finish(errors.New("console output is not read: the stream was given up"))
	}
}
