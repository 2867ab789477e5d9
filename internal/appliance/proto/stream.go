package proto

import (
	"errors"
	"fmt"
	"io"
	"sync"
)

// errWindow says that more came than was granted.
var errWindow = fmt.Errorf("more data than was granted: %w", ErrFrame)

// inlet is the receiving end of a stream: a ring of Window bytes, which whoever sends may fill and no more.
type inlet struct {
	grant func(n int) // tells the sender; not called while the lock is held

	mu     sync.Mutex
	more   sync.Cond
	ring   []byte // made with the first byte
	start  int
	length int
	owed   int   // taken out and not granted again
	credit int   // what the sender may still send
	end    error // io.EOF after the last byte, or why nothing more comes
	drop   bool  // nobody reads
}

func newInlet(grant func(n int)) *inlet {
	i := &inlet{grant: grant, credit: Window}
	i.more.L = &i.mu
	return i
}

// push takes what has arrived; nothing at all is the end. It never waits.
func (i *inlet) push(b []byte) error {
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.end != nil {
		if errors.Is(i.end, io.EOF) {
			return fmt.Errorf("data after the end of a stream: %w", ErrFrame)
		}
		return nil
	}
	defer i.more.Broadcast()
	if len(b) == 0 {
		i.end = io.EOF
		return nil
	}
	if len(b) > i.credit {
		return errWindow
	}
	i.credit -= len(b)
	if i.drop {
		return nil
	}
	if i.ring == nil {
		i.ring = make([]byte, Window)
	}
	at := (i.start + i.length) % Window
	n := copy(i.ring[at:], b)
	copy(i.ring, b[n:])
	i.length += len(b)
	return nil
}

// fail ends the stream, and gives back its memory.
func (i *inlet) fail(err error) {
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.end == nil {
		i.end = err
	}
	if !errors.Is(i.end, io.EOF) {
		i.ring, i.length = nil, 0
	}
	i.more.Broadcast()
}

// discard says that nobody reads any more. What still comes is counted and dropped.
func (i *inlet) discard() {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.drop, i.ring, i.length = true, nil, 0
	i.more.Broadcast()
}

// Close implements io.Closer.
func (i *inlet) Close() error {
	i.discard()
	return nil
}

// Read implements io.Reader.
func (i *inlet) Read(b []byte) (int, error) {
	i.mu.Lock()
	for i.length == 0 && i.end == nil && !i.drop {
		i.more.Wait()
	}
	if i.length == 0 {
		defer i.mu.Unlock()
		if i.end == nil {
			return 0, io.ErrClosedPipe
		}
		return 0, i.end
	}
	n := copy(b, i.ring[i.start:min(i.start+i.length, Window)])
	i.start = (i.start + n) % Window
	i.length -= n
	i.owed += n
	grant := 0
	if i.owed >= Window/2 && i.end == nil {
		grant, i.owed = i.owed, 0
		i.credit += grant
	}
	i.mu.Unlock()
	if grant > 0 {
		i.grant(grant)
	}
	return n, nil
}

// outlet is the sending end of a stream.
type outlet struct {
	send func(b []byte) error // one data frame; it does not keep b

	mu     sync.Mutex
	more   sync.Cond
	credit int
	err    error
	closed bool
}

func newOutlet(send func(b []byte) error) *outlet {
	o := &outlet{send: send, credit: Window}
	o.more.L = &o.mu
	return o
}

// add takes credit that the receiver grants.
func (o *outlet) add(n uint32) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	if int64(o.credit)+int64(n) > Window {
		return fmt.Errorf("credit of %d bytes beyond the window: %w", n, ErrFrame)
	}
	o.credit += int(n)
	o.more.Broadcast()
	return nil
}

// fail makes every write fail, also one that waits.
func (o *outlet) fail(err error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.err == nil {
		o.err = err
	}
	o.more.Broadcast()
}

// Write implements io.Writer. It waits for credit.
func (o *outlet) Write(b []byte) (int, error) {
	done := 0
	for done < len(b) {
		n, err := o.reserve(min(len(b)-done, MaxData))
		if err != nil {
			return done, err
		}
		if err := o.send(b[done : done+n]); err != nil {
			return done, err
		}
		done += n
	}
	return done, nil
}

// reserve waits until something may be sent, and returns how much of want. A little credit is not taken at once where
// more will come: frames would shrink to what was granted last.
func (o *outlet) reserve(want int) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for o.credit < want && o.err == nil {
		o.more.Wait()
	}
	if o.err != nil {
		return 0, o.err
	}
	o.credit -= want
	return want, nil
}

// Close sends the end of the stream, once.
func (o *outlet) Close() error {
	o.mu.Lock()
	closed, err := o.closed, o.err
	o.closed = true
	o.mu.Unlock()
	if closed || err != nil {
		return err
	}
	return o.send(nil)
}
