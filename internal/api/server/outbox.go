package server

import (
	"errors"
	"net"
	"sync"
)

var errGone = errors.New("client is gone")

// buffers keeps buffers for messages. Large ones are left to the collector, so that one big document does not stay.
type buffers struct{ pool sync.Pool }

const keepBuffer = 128 << 10

func (b *buffers) get() []byte {
	if p, ok := b.pool.Get().(*[]byte); ok {
		return (*p)[:0]
	}
	return make([]byte, 0, 1024)
}

func (b *buffers) put(buf []byte) {
	if cap(buf) <= keepBuffer {
		b.pool.Put(&buf)
	}
}

// outbox writes messages to a client, one at a time. Replies are written by whoever has them (send); what must not wait
// (events, signs of life) is queued, and a goroutine lives only as long as the queue is not empty.
type outbox struct {
	nc    net.Conn
	bufs  *buffers
	limit int // of the queue
	spawn func(func())

	mu      sync.Mutex
	idle    sync.Cond // nobody writes, or dead
	writing bool
	dead    bool
	quiet   bool // nothing is queued any more
	queue   net.Buffers
}

func (o *outbox) init(nc net.Conn, bufs *buffers, limit int, spawn func(func())) {
	o.nc, o.bufs, o.limit, o.spawn = nc, bufs, limit, spawn
	o.idle.L = &o.mu
}

// send writes buf and gives it back to the pool. It waits for its turn and for the client.
func (o *outbox) send(buf []byte) error {
	return o.turn(buf, func() error {
		_, err := o.nc.Write(buf)
		return err
	})
}

// turn waits until nobody else writes, writes, and gives buf back to the pool.
func (o *outbox) turn(buf []byte, write func() error) error {
	o.mu.Lock()
	for o.writing && !o.dead {
		o.idle.Wait()
	}
	if o.dead {
		o.mu.Unlock()
		return errGone
	}
	o.writing = true
	o.mu.Unlock()
	err := write()
	o.bufs.put(buf)
	if err != nil {
		o.kill()
	}
	o.flush()
	return err
}

// post queues buf and returns at once. A client whose queue is full is given up.
func (o *outbox) post(buf []byte) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.dead || o.quiet {
		return errGone
	}
	if len(o.queue) >= o.limit {
		o.end()
		return errGone
	}
	o.queue = append(o.queue, buf)
	if !o.writing {
		o.writing = true
		o.spawn(o.flush)
	}
	return nil
}

// hush refuses what would be queued from now on: after it, spawn is not called any more.
func (o *outbox) hush() {
	o.mu.Lock()
	o.quiet = true
	o.mu.Unlock()
}

// flush writes what is queued. The caller has set writing.
func (o *outbox) flush() {
	for {
		o.mu.Lock()
		if len(o.queue) == 0 || o.dead {
			o.queue = nil
			o.writing = false
			o.idle.Broadcast()
			o.mu.Unlock()
			return
		}
		q := o.queue
		o.queue = nil
		o.mu.Unlock()
		if _, err := q.WriteTo(o.nc); err != nil {
			o.kill()
		}
	}
}

// kill ends the connection; whoever waits for the client stops waiting.
func (o *outbox) kill() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.end()
}

func (o *outbox) end() {
	if !o.dead {
		o.dead = true
		_ = o.nc.Close()
	}
	o.idle.Broadcast()
}
