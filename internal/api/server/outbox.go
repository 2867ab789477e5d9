package server

import (
	"errors"
	"net"
	"slices"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

var (
	errGone = errors.New("client is gone")
	errFull = errors.New("client does not read")
)

// buffers keeps buffers for messages. Large ones are left to the collector, so that one big document does not stay.
type buffers struct{ pool sync.Pool }

const keepBuffer = 128 << 10

func (b *buffers) get() []byte {
	if p, ok := b.pool.Get().(*[]byte); ok {
		return (*p)[:0]
	}
	return make([]byte, 0, 1024)
}

// sized returns a buffer with room for n bytes, the expected size.
func (b *buffers) sized(n int64) []byte { return slices.Grow(b.get(), int(n)) }

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
	spawn func(func())
	limit int   // messages of the queue
	most  int64 // bytes of the queue

	mu      sync.Mutex
	idle    sync.Cond // nobody writes, or dead
	writing bool
	dead    bool
	quiet   bool // nothing is queued any more
	queue   net.Buffers
	queued  int64 // bytes in queue, and of its messages that are being written
	claimed int64 // bytes of replies that are expected, or wait to be written

	moved  time.Time // when the client was last seen to take written bytes
	unread int       // bytes that the kernel had for the client when stalledFor last looked
}

func (o *outbox) init(nc net.Conn, bufs *buffers, spawn func(func())) {
	o.nc, o.bufs, o.spawn = nc, bufs, spawn
	o.idle.L = &o.mu
}

// send writes buf and gives it back to the pool. It waits for its turn and for the client.
func (o *outbox) send(buf []byte) error {
	return o.turn(buf, func() error { return o.write(buf) })
}

// step is the size of the largest write: the kernel counts the bytes that a client has taken by whole writes.
const step = 16 << 10

func (o *outbox) write(buf []byte) error {
	for len(buf) > 0 {
		o.progress()
		n, err := o.nc.Write(buf[:min(len(buf), step)])
		if err != nil {
			return err
		}
		buf = buf[n:]
	}
	return nil
}

// progress notes that the client takes the bytes that are written.
func (o *outbox) progress() {
	o.mu.Lock()
	o.moved = time.Now()
	o.mu.Unlock()
}

// stalledFor is how long the client has taken less than a step of the bytes being written; 0 without a write. A write that waits
// goes on only when three quarters of the socket are free, so inSocket is compared with its value at the previous call as well.
func (o *outbox) stalledFor() time.Duration {
	o.mu.Lock()
	defer o.mu.Unlock()
	if !o.writing {
		return 0
	}
	if n, ok := inSocket(o.nc); ok && n != o.unread {
		o.unread = n
		o.moved = time.Now()
	}
	return time.Since(o.moved)
}

// inSocket is how much unread data the kernel keeps for the other end, in bytes of the kernel's memory.
func inSocket(nc net.Conn) (n int, ok bool) {
	s, ok := nc.(syscall.Conn)
	if !ok {
		return 0, false
	}
	raw, err := s.SyscallConn()
	if err != nil {
		return 0, false
	}
	var asked error
	err = raw.Control(func(fd uintptr) { n, asked = unix.IoctlGetInt(int(fd), unix.SIOCOUTQ) })
	return n, err == nil && asked == nil
}

func (o *outbox) isDead() bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.dead
}

// unhurried is after which time a call is no longer expected to answer at once.
const unhurried = 20 * time.Millisecond

// claim waits until a reply of n bytes may be made: a reply of any size when no other is claimed, several within the window.
// Calls that run for long while nothing waits for the client to read hold up no others. It reports false when the client is gone.
func (o *outbox) claim(n int64) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	fits := func() bool { return o.dead || o.claimed == 0 || o.claimed+n <= window }
	if !fits() {
		late := false
		t := time.AfterFunc(unhurried, func() {
			o.mu.Lock()
			late = true
			o.idle.Broadcast()
			o.mu.Unlock()
		})
		defer t.Stop()
		for !fits() && (o.writing || !late) {
			o.idle.Wait()
		}
	}
	if o.dead {
		return false
	}
	o.claimed += n
	return true
}

// adjust changes the claimed bytes by n.
func (o *outbox) adjust(n int64) {
	o.mu.Lock()
	o.claimed += n
	o.idle.Broadcast()
	o.mu.Unlock()
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
	o.writing, o.moved = true, time.Now()
	o.mu.Unlock()
	err := write()
	o.bufs.put(buf)
	if err != nil {
		o.kill()
	}
	o.flush()
	return err
}

// post queues buf and returns at once. A client whose queue is full is given up, which is errFull.
func (o *outbox) post(buf []byte) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.dead || o.quiet {
		return errGone
	}
	if len(o.queue) >= o.limit || o.queued+int64(cap(buf)) > o.most {
		o.end()
		return errFull
	}
	o.queue = append(o.queue, buf)
	o.queued += int64(cap(buf))
	if !o.writing {
		o.writing, o.moved = true, time.Now()
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
		q, bytes := o.queue, o.queued
		o.queue = nil
		o.mu.Unlock()
		if err := o.writeAll(q); err != nil {
			o.kill()
		}
		o.mu.Lock()
		o.queued -= bytes
		o.mu.Unlock()
	}
}

// writeAll writes small messages together, a step's worth at a time.
func (o *outbox) writeAll(q net.Buffers) error {
	for len(q) > 0 {
		n, size := 1, len(q[0])
		for n < len(q) && size+len(q[n]) <= step {
			size += len(q[n])
			n++
		}
		if n == 1 {
			if err := o.write(q[0]); err != nil {
				return err
			}
		} else {
			o.progress()
			some := q[:n]
			if _, err := some.WriteTo(o.nc); err != nil {
				return err
			}
		}
		q = q[n:]
	}
	return nil
}

// kill ends the connection; goroutines stop waiting for the client. It reports whether the connection had not ended before.
func (o *outbox) kill() (first bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	first = !o.dead
	o.end()
	return first
}

func (o *outbox) end() {
	if !o.dead {
		o.dead = true
		_ = o.nc.Close()
	}
	o.idle.Broadcast()
}
