package helper

import (
	"context"
	"errors"
	"fmt"
	"os"

	"taproom/internal/host"
	"taproom/internal/spec"
)

// former is the process of an earlier build, which goes on serving until the last of its networks was taken from it. It is
// found at a socket of another name, so that a daemon that dies in between finds it too.
type former struct {
	wire    *wire
	process *host.PIDFD
	gone    func() error // called when it serves nothing any more
}

// networks lists what it serves, of the networks that are named or of all.
func (f *former) networks(ctx context.Context, only ...spec.UUID) ([]Observed, error) {
	if f == nil || f.wire == nil {
		return nil, nil
	}
	all, err := f.wire.networks(ctx, only...)
	if errors.Is(err, ErrLost) {
		return nil, f.end(ctx)
	}
	return all, err
}

// take takes a network from it, with the descriptors it has by name.
func (f *former) take(ctx context.Context, id spec.UUID) (map[string]*os.File, error) {
	if f == nil || f.wire == nil {
		return nil, nil
	}
	r, files, err := f.wire.exchange(ctx, Request{Op: OpTake, Network: id}, nil)
	if err == nil && len(files) != len(r.Has) {
		err = errors.Join(fmt.Errorf("%d descriptors came, and %d names", len(files), len(r.Has)), closeFiles(files))
	}
	if errors.Is(err, ErrLost) {
		return nil, nil // and nobody serves it
	}
	if err != nil {
		return nil, fmt.Errorf("take network %s from the helper of an earlier build: %w", id, err)
	}
	has := map[string]*os.File{}
	for i, name := range r.Has {
		has[name] = files[i]
	}
	return has, nil
}

// remove stops it serving a network.
func (f *former) remove(ctx context.Context, id spec.UUID) error {
	if f == nil || f.wire == nil {
		return nil
	}
	_, err := f.wire.call(ctx, Request{Op: OpRemove, Network: id})
	if err != nil && !errors.Is(err, ErrLost) {
		return err
	}
	return f.finish(ctx)
}

// finish ends it once it serves nothing any more.
func (f *former) finish(ctx context.Context) error {
	left, err := f.networks(ctx)
	if err != nil || len(left) > 0 {
		return err
	}
	return f.end(ctx)
}

// end ends it.
func (f *former) end(ctx context.Context) error {
	if f == nil || f.wire == nil {
		return nil
	}
	if _, err := f.wire.call(ctx, Request{Op: OpQuit}); err != nil && !errors.Is(err, ErrLost) {
		return err
	}
	if err := f.process.Wait(ctx); err != nil {
		return fmt.Errorf("wait for the helper of an earlier build to end: %w", err)
	}
	err := errors.Join(f.close(), f.gone())
	f.wire = nil
	return err
}

// close lets go of it.
func (f *former) close() error {
	if f == nil || f.wire == nil {
		return nil
	}
	f.wire.close()
	return f.process.Close()
}
