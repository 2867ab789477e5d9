package bench

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"

	"golang.org/x/sys/unix"

	"taproom/internal/api/remote"
	"taproom/internal/api/xdr"
)

// wire is a connection that asks one question again and again and looks at nothing but the length and the header of the
// answers, so that the daemon's part is what is measured. It blocks in the kernel as a client in C does.
type wire struct {
	fd  int
	buf []byte
}

// wireWithin bounds an answer, in seconds.
const wireWithin = 30

// dialWire opens a connection as libvirt's clients do.
func dialWire(socket string) (*wire, error) {
	fd, err := unix.Socket(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, err
	}
	w := &wire{fd: fd, buf: make([]byte, 64<<10)}
	if err := errors.Join(
		unix.SetsockoptTimeval(fd, unix.SOL_SOCKET, unix.SO_RCVTIMEO, &unix.Timeval{Sec: wireWithin}),
		unix.Connect(fd, &unix.SockaddrUnix{Name: socket}),
	); err != nil {
		return nil, errors.Join(fmt.Errorf("connect to %s: %w", socket, err), w.close())
	}
	for _, q := range []question{
		{remote.ProcAuthList, &xdr.Void{}},
		{remote.ProcConnectOpen, &remote.OptStringFlags{S: remote.Opt("qemu:///system")}},
	} {
		if _, err := w.ask(q, 1); err != nil {
			return nil, errors.Join(err, w.close())
		}
	}
	return w, nil
}

// question is a call with its arguments.
type question struct {
	procedure uint32
	args      xdr.Value
}

// ask makes the call n times, one after the other, and returns the payload of the last answer, which is valid until the
// next.
func (w *wire) ask(q question, n int) ([]byte, error) {
	h := remote.Header{Program: remote.ProgramRemote, Version: remote.Version, Procedure: q.procedure, Type: remote.Call, Serial: 1}
	call, err := remote.Append(nil, h, q.args)
	if err != nil {
		return nil, err
	}
	h.Type = remote.Reply
	var payload []byte
	for range n {
		if _, err := unix.Write(w.fd, call); err != nil {
			return nil, fmt.Errorf("call procedure %d: %w", q.procedure, err)
		}
		if payload, err = w.answer(h); err != nil {
			return nil, fmt.Errorf("answer to procedure %d: %w", q.procedure, err)
		}
	}
	return payload, nil
}

// answer reads one message, which must have the header.
func (w *wire) answer(want remote.Header) ([]byte, error) {
	have := 0
	for need := remote.HeaderSize; have < need; {
		n, err := unix.Read(w.fd, w.buf[have:])
		switch {
		case errors.Is(err, unix.EINTR):
			continue
		case err != nil:
			return nil, err
		case n == 0:
			return nil, io.ErrUnexpectedEOF
		}
		if have += n; have < remote.HeaderSize {
			continue
		}
		if need = int(binary.BigEndian.Uint32(w.buf)); need < remote.HeaderSize || need > remote.MaxMessage {
			return nil, fmt.Errorf("it has %d bytes", need)
		}
		if need > len(w.buf) {
			w.buf = append(w.buf, make([]byte, need-len(w.buf))...)
		}
	}
	if got := remote.ParseHeader(w.buf); got != want {
		return nil, fmt.Errorf("it has header %+v, want %+v", got, want)
	}
	return w.buf[remote.HeaderSize:have], nil
}

func (w *wire) close() error { return unix.Close(w.fd) }
