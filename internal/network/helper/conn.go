package helper

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"sync"

	"taproom/internal/host"
)

// ErrLost says that the helper has ended, or hung up. Its networks must be set again on a new one.
var ErrLost = errors.New("the network helper is gone")

// RefusedError is what the helper said no to.
type RefusedError struct {
	Op     Op
	Reason string
}

// Error implements error.
func (e *RefusedError) Error() string { return fmt.Sprintf("network helper: %s: %s", e.Op, e.Reason) }

// wire is a connection to a helper. A goroutine reads it; requests may be made from several.
type wire struct {
	kernel *host.Kernel
	conn   *net.UnixConn
	event  func(Event)
	done   chan struct{} // closed when reading has ended

	mu      sync.Mutex
	last    uint64
	waiting map[uint64]chan reply // nil after the end
}

// reply is a response with what came with it.
type reply struct {
	Response
	files []*os.File
}

func newWire(k *host.Kernel, c *net.UnixConn, event func(Event)) *wire {
	w := &wire{kernel: k, conn: c, event: event, done: make(chan struct{}), waiting: map[uint64]chan reply{}}
	go w.read()
	return w
}

// read ends when the connection does.
func (w *wire) read() {
	defer close(w.done)
	buf := make([]byte, MaxMessage+1)
	for {
		n, files, err := w.kernel.ReceiveFiles(w.conn, buf, MaxFiles)
		r := reply{files: files}
		if err != nil || n == 0 || json.Unmarshal(buf[:n], &r.Response) != nil {
			_ = closeFiles(files) // of nobody
			break
		}
		if r.Event != nil {
			w.event(*r.Event)
			continue
		}
		w.mu.Lock()
		if c := w.waiting[r.ID]; c != nil {
			c <- r // has room for its one response
			delete(w.waiting, r.ID)
		} else {
			_ = closeFiles(files) // nobody waits for them any more
		}
		w.mu.Unlock()
	}
	w.conn.Close()
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, c := range w.waiting {
		close(c)
	}
	w.waiting = nil
}

// close hangs up and waits for the reader.
func (w *wire) close() {
	w.conn.Close()
	<-w.done
}

// call makes a request and waits for its response.
func (w *wire) call(ctx context.Context, q Request, files ...*os.File) (Response, error) {
	r, back, err := w.exchange(ctx, q, files)
	return r, errors.Join(err, closeFiles(back))
}

// exchange is call where descriptors may come back.
func (w *wire) exchange(ctx context.Context, q Request, files []*os.File) (Response, []*os.File, error) {
	p, err := w.send(q, files)
	if err != nil {
		return Response{}, nil, err
	}
	return p.wait(ctx)
}

// pending is a request that was sent. wait must be called, once.
type pending struct {
	w     *wire
	op    Op
	id    uint64
	reply chan reply
}

// send makes a request. The process has the files when it returns.
func (w *wire) send(q Request, files []*os.File) (*pending, error) {
	p := &pending{w: w, op: q.Op, reply: make(chan reply, 1)}
	w.mu.Lock()
	if w.waiting == nil {
		w.mu.Unlock()
		return nil, fmt.Errorf("%s: %w", q.Op, ErrLost)
	}
	w.last++
	q.ID, p.id = w.last, w.last
	w.waiting[q.ID] = p.reply
	w.mu.Unlock()
	b, err := json.Marshal(q)
	if err == nil {
		if serr := w.kernel.SendFiles(w.conn, b, files...); serr != nil {
			err = fmt.Errorf("%s: %w: %w", q.Op, ErrLost, serr)
		}
	}
	if err != nil {
		p.forget()
		return nil, err
	}
	return p, nil
}

func (p *pending) forget() {
	p.w.mu.Lock()
	defer p.w.mu.Unlock()
	delete(p.w.waiting, p.id)
}

// wait returns the response.
func (p *pending) wait(ctx context.Context) (Response, []*os.File, error) {
	defer p.forget()
	select {
	case r, ok := <-p.reply:
		switch {
		case !ok:
			return r.Response, nil, fmt.Errorf("%s: %w", p.op, ErrLost)
		case r.Error != "":
			return r.Response, r.files, &RefusedError{p.op, r.Error}
		}
		return r.Response, r.files, nil
	case <-ctx.Done():
		return Response{}, nil, fmt.Errorf("%s: wait for the network helper: %w", p.op, ctx.Err())
	}
}
