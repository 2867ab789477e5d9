package pid1

import (
	"fmt"
	"io"
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// Port is a virtio-serial port. While no host process is connected, the kernel answers a read with "end of file" at
// once; a Port waits instead, without polling: connecting wakes whoever waits for the file.
type Port struct {
	file *os.File
	raw  syscall.RawConn
}

// OpenPort opens the device of a port.
func OpenPort(path string) (*Port, error) {
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		return nil, fmt.Errorf("open the host's port: %w", err)
	}
	raw, err := f.SyscallConn()
	if err != nil {
		_ = f.Close()
		return nil, fmt.Errorf("open the host's port: %w", err)
	}
	return &Port{f, raw}, nil
}

// Read implements io.Reader.
func (p *Port) Read(b []byte) (int, error) {
	var n int
	var readErr error
	err := p.raw.Read(func(fd uintptr) bool {
		n, readErr = unix.Read(int(fd), b)
		return readErr != unix.EAGAIN && readErr != unix.EINTR && (readErr != nil || n > 0)
	})
	if err != nil {
		return 0, err
	}
	if readErr != nil {
		return 0, readErr // ENODEV: unplugged
	}
	return n, nil
}

// Write implements io.Writer. It waits while no host process is connected.
func (p *Port) Write(b []byte) (int, error) { return p.file.Write(b) }

// Close closes the port.
func (p *Port) Close() error { return p.file.Close() }

var _ io.ReadWriteCloser = (*Port)(nil)
