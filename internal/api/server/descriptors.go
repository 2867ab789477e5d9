package server

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"net"
	"os"

	"golang.org/x/sys/unix"

	"taproom/internal/api/remote"
)

// inbox takes in what a client sends beside bytes. It is the reading goroutine's alone. A descriptor comes with a byte of
// its own behind the message that announces it, but a read may bring it while an earlier message is still being looked at:
// so they are kept in order until they are claimed, and never more than one message may have.
type inbox struct {
	unix  *net.UnixConn // nil where none can come
	oob   []byte
	files []*os.File
}

func newInbox(nc net.Conn) inbox {
	u, ok := nc.(*net.UnixConn)
	if !ok {
		return inbox{}
	}
	return inbox{unix: u, oob: make([]byte, unix.CmsgSpace(4*remote.MaxFDs))}
}

// recv reads like Read and keeps the descriptors that come along.
func (c *conn) recv(b []byte) (int, error) {
	if c.in.unix == nil {
		return c.nc.Read(b)
	}
	n, oobn, flags, _, err := c.in.unix.ReadMsgUnix(b, c.in.oob)
	if oobn > 0 {
		err = errors.Join(err, c.in.keep(c.in.oob[:oobn]))
	}
	if flags&unix.MSG_CTRUNC != 0 || len(c.in.files) > remote.MaxFDs {
		err = errors.Join(err, fmt.Errorf("more than %d file descriptors are under way", remote.MaxFDs))
	}
	return n, err
}

// keep takes descriptors out of a control message. Go has asked for them to be closed on exec.
func (in *inbox) keep(oob []byte) error {
	msgs, err := unix.ParseSocketControlMessage(oob)
	if err != nil {
		return fmt.Errorf("read file descriptors: %w", err)
	}
	for i := range msgs {
		fds, err := unix.ParseUnixRights(&msgs[i])
		if err != nil {
			continue // credentials or the like: nothing that needs closing
		}
		for _, fd := range fds {
			in.files = append(in.files, os.NewFile(uintptr(fd), "received"))
		}
	}
	return nil
}

// passesFiles reports whether descriptors can go over the connection.
func (c *conn) passesFiles() bool { return c.in.unix != nil }

// handleWithFiles deals with a message that announces descriptors: they are waited for as long as for the rest of a message.
func (c *conn) handleWithFiles(msg []byte) error {
	body := bytes.Clone(msg[remote.HeaderSize:])
	h := remote.ParseHeader(msg)
	c.consume(msg)
	if len(body) < 4 {
		return errors.New("message announces file descriptors and does not say how many")
	}
	n := binary.BigEndian.Uint32(body)
	if n > remote.MaxFDs {
		return fmt.Errorf("message announces %d file descriptors; at most %d are taken", n, remote.MaxFDs)
	}
	files, err := c.claim(int(n))
	if err != nil {
		return err
	}
	return c.handle(h, body[4:], files)
}

// claim takes the bytes that n descriptors come with, and the first n descriptors.
func (c *conn) claim(n int) ([]*os.File, error) {
	if n > 0 {
		if err := c.deadline(); err != nil {
			return nil, err
		}
	}
	for range n {
		if _, err := c.fill(1, 1); err != nil {
			return nil, fmt.Errorf("wait for a file descriptor: %w", err)
		}
		c.have = copy(c.buf[:], c.buf[1:c.have])
	}
	if len(c.in.files) < n {
		return nil, fmt.Errorf("message announces %d file descriptors and %d came", n, len(c.in.files))
	}
	files := c.in.files[:n:n]
	c.in.files = c.in.files[n:]
	return files, c.whole(n)
}

func closeFiles(files []*os.File) {
	for _, f := range files {
		_ = f.Close()
	}
}

// give sends a descriptor with the reply. It is closed when it was sent, or when there is no such reply.
func (q *request) give(f *os.File) { q.given = append(q.given, f) }

// sendFiles writes a message and the descriptors that follow it, each with a byte of its own.
func (o *outbox) sendFiles(buf []byte, files []*os.File) error {
	return o.turn(buf, func() error {
		u, ok := o.nc.(*net.UnixConn)
		if !ok {
			return errors.New("file descriptors cannot be passed over this connection")
		}
		if err := o.write(buf); err != nil {
			return err
		}
		for _, f := range files {
			if err := sendFile(u, f); err != nil {
				return err
			}
		}
		return nil
	})
}

func sendFile(u *net.UnixConn, f *os.File) error {
	raw, err := f.SyscallConn()
	if err != nil {
		return err
	}
	var sent error
	if err := raw.Control(func(fd uintptr) {
		_, _, sent = u.WriteMsgUnix([]byte{0}, unix.UnixRights(int(fd)), nil)
	}); err != nil {
		return err
	}
	return sent
}
