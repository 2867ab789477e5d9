package helper

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"
)

// handover is a set that was sent: the helper has its descriptors, and the daemon has closed its own, except the packet socket.
type handover struct {
	request *pending
	keep    []string // descriptors that the process had
	names   []string // of frames
	frames  []*os.File
}

// takeWithin is how long a helper may take to receive a message: the daemon starts no child until then. A connection has room for
// hundreds of messages, so the helper of a full connection does not read.
const takeWithin = time.Second

// handOver opens the descriptors of a network that the helper lacks and sends them. No child is started until it returns, as it would
// have copies of the sockets: if the helper ended now, the next helper's could not be bound until the child has executed its program.
func (h *Helper) handOver(n Network, config *os.File, want []descriptor, has []string, taken map[string]*os.File) (*handover, error) {
	var o handover
	var err, closed error
	h.k.WithoutForks(func() {
		var names []string
		var files []*os.File
		if o.keep, names, files, err = openAll(want, has, taken); err != nil {
			err = fmt.Errorf("serve %s: %w", n.Bridge, err)
			return
		}
		if err = h.wire.conn.SetWriteDeadline(time.Now().Add(takeWithin)); err != nil {
			err = fmt.Errorf("serve %s: %w", n.Bridge, err)
			closed = closeFiles(files)
			return
		}
		defer h.wire.conn.SetWriteDeadline(time.Time{}) //nolint:errcheck // the connection is closed
		o.request, err = h.wire.send(Request{Op: OpSet, Network: n.UUID, Keep: o.keep, New: names}, append([]*os.File{config}, files...))
		for i, f := range files {
			if kind, _ := ParseDescriptor(names[i]); kind == DescFrames {
				o.names, o.frames = append(o.names, names[i]), append(o.frames, f)
			} else {
				closed = errors.Join(closed, f.Close())
			}
		}
	})
	if err != nil {
		return nil, errors.Join(err, closed, closeFiles(o.frames))
	}
	return &o, closed
}

// finish waits until the process serves the network, and keeps its packet socket.
func (h *Helper) finish(ctx context.Context, n Network, o *handover) error {
	_, back, err := o.request.wait(ctx)
	if err = errors.Join(err, closeFiles(back)); err == nil {
		h.kept.set(n.UUID, o.keep, o.names, o.frames)
	}
	return errors.Join(err, closeFiles(o.frames))
}
