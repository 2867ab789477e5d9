package pool

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"os"
	"time"

	"golang.org/x/sys/unix"

	"taproom/internal/host"
)

// ErrNoPool says that nobody serves the socket.
var ErrNoPool = errors.New("there is no pool of appliances")

// exchange asks the pool at a socket for one thing. The connection is given back with the answer: while it is open, the pool
// begins no other work for this client.
func exchange(ctx context.Context, k *host.Kernel, socket string, q request) (_ net.Conn, r reply, files []*os.File, err error) {
	c, err := k.DialUnix(ctx, socket)
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, unix.ECONNREFUSED) {
		return nil, r, nil, ErrNoPool
	}
	if err != nil {
		return nil, r, nil, err
	}
	stop := context.AfterFunc(ctx, func() { _ = c.SetDeadline(time.Unix(1, 0)) })
	defer stop()
	defer func() {
		if err != nil {
			_ = c.Close()
			if ctx.Err() != nil {
				err = context.Cause(ctx)
			}
		}
	}()
	cred, err := k.PeerCredentials(c)
	if err != nil {
		return nil, r, nil, err
	}
	if int(cred.Uid) != os.Geteuid() {
		return nil, r, nil, fmt.Errorf("%s is served by user %d and not by your own pool; remove it, or choose another directory", socket, cred.Uid)
	}
	err = send(k, c, q, nil)
	if err == nil {
		files, err = receive(k, c, &r)
	}
	if errors.Is(err, io.EOF) || errors.Is(err, unix.ECONNRESET) || errors.Is(err, unix.EPIPE) { // it ended before it saw us
		return nil, r, nil, ErrNoPool
	}
	if err != nil {
		return nil, r, nil, fmt.Errorf("ask the pool at %s: %w", socket, err)
	}
	if err = r.err(); err != nil {
		(&Parcel{Files: files}).Close()
		return nil, r, nil, err
	}
	return c, r, files, nil
}

// take asks for an appliance.
func take(ctx context.Context, k *host.Kernel, socket string, wait bool) (net.Conn, *Parcel, error) {
	q := newRequest(opTake)
	q.Wait = wait
	c, r, files, err := exchange(ctx, k, socket, q)
	if err != nil {
		return nil, nil, err
	}
	return c, &Parcel{Facts: r.Facts, Files: files}, nil
}

// StatusOf asks the pool at a socket how it is.
func StatusOf(ctx context.Context, k *host.Kernel, socket string) (Status, error) {
	c, r, files, err := exchange(ctx, k, socket, newRequest(opStatus))
	if err != nil {
		return Status{}, err
	}
	defer c.Close()
	(&Parcel{Files: files}).Close()
	if r.Status == nil {
		return Status{}, fmt.Errorf("ask the pool at %s: it said nothing", socket)
	}
	return *r.Status, nil
}

// Stop has the pool at a socket end, with the clones that wait there, and returns when its process is gone.
func Stop(ctx context.Context, k *host.Kernel, socket string) error {
	st, err := StatusOf(ctx, k, socket)
	if err != nil {
		return err
	}
	p, err := k.OpenPID(st.PID, 0)
	if errors.Is(err, host.ErrGone) {
		return nil
	}
	if err != nil {
		return err
	}
	defer p.Close()
	if err := stop(ctx, k, socket); err != nil {
		return err
	}
	return p.Wait(ctx)
}

// stop tells a pool to end. When it returns, nobody finds the pool any more.
func stop(ctx context.Context, k *host.Kernel, socket string) error {
	c, _, files, err := exchange(ctx, k, socket, newRequest(opStop))
	if err != nil {
		return err
	}
	(&Parcel{Files: files}).Close()
	return c.Close()
}
