package launch

import (
	"context"
	"io"

	"taproom/internal/appliance/chain"
)

// vm is what an appliance runs in. Its methods may be called at the same time, but for add.
type vm interface {
	// line is the connection to the agent, which is the caller's from then on. It is asked for once.
	line() io.ReadWriteCloser
	// process is the number of the process whose memory the appliance is.
	process() (int, error)
	// exited is closed when it has ended, whatever ended it.
	exited() <-chan struct{}
	// ioFailed is the first error of a disk that was told of; nil where there was none. Asked after exited, it is the last word.
	ioFailed() error
	// said adds to an error what the machine and its guest said last, where that helps. It is nil for nil.
	said(ctx context.Context, err error) error
	// end ends it at once and lets go of everything.
	end() error
	// forget lets go of it and has it go on.
	forget() error
	// add plugs a disk in, and leaves nothing where that fails. The files are the caller's, also afterwards.
	add(ctx context.Context, d Disk, c chain.Chain) (plugged, error)
}

// plugged is a disk that a machine has.
type plugged struct {
	serial string
	// takeBack unplugs it, also when ctx is done.
	takeBack func(ctx context.Context) error
}
