package helper

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"
)

// handover is a set that was sent: the process has its descriptors, and this one has closed its own, except the packet socket.
type handover struct {
	request *pending
	keep    []string // descriptors that the process had
	names   []string // of frames
	frames  []*os.File
}

// takeWithin is how long a helper may take to take a message: nothing else is started meanwhile. There is room for hundreds in a
// connection, so one that has none does not read.
const takeWithin = time.Second

// handOver opens what the process lacks of a network and sends it. Meanwhile no child is started, which would have copies of the
// sockets: should the process end now, the next one's could not be bound until the child has executed its program.
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
