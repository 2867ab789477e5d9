package servertest

import (
	"context"
	"io"
	"os"

	"golang.org/x/sys/unix"

	"taproom/internal/spec"
)

// OpenGraphics implements server.Displays: the display says hello on the socket.
func (f *Fake) OpenGraphics(_ context.Context, uuid spec.UUID, _ uint32, socket *os.File, _ uint32) error {
	if err := f.change("OpenGraphics", uuid, running); err != nil {
		return err
	}
	_, err := socket.WriteString("hello")
	return err
}

// OpenGraphicsFD implements server.Displays.
func (f *Fake) OpenGraphicsFD(ctx context.Context, uuid spec.UUID, index, flags uint32) (*os.File, error) {
	fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, err
	}
	ours, theirs := os.NewFile(uintptr(fds[0]), "display"), os.NewFile(uintptr(fds[1]), "client")
	defer ours.Close()
	if err := f.OpenGraphics(ctx, uuid, index, ours, flags); err != nil {
		theirs.Close()
		return nil, err
	}
	return theirs, nil
}

// OpenChannel implements server.Displays: it says what is written to it.
func (f *Fake) OpenChannel(_ context.Context, uuid spec.UUID, _ string, _ uint32) (io.ReadWriteCloser, error) {
	if err := f.change("OpenChannel", uuid, running); err != nil {
		return nil, err
	}
	return Echo(), nil
}
