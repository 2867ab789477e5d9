package pid1

import (
	"errors"
	"fmt"
	"io"
	"os"
	"syscall"
	"unsafe"

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
	if len(b) == 0 {
		return 0, nil
	}
	var n uintptr
	var failed error
	err := p.raw.Read(func(fd uintptr) bool {
		n, failed = Quick(unix.SYS_READ, fd, uintptr(unsafe.Pointer(&b[0])), uintptr(len(b)))
		return failed == nil && n > 0 || failed != nil && !errors.Is(failed, unix.EAGAIN)
	})
	if err != nil {
		return 0, err
	}
	if failed != nil {
		return 0, failed // ENODEV: unplugged
	}
	return int(n), nil
}

// Write implements io.Writer. It waits while no host process is connected.
func (p *Port) Write(b []byte) (int, error) {
	done := 0
	for done < len(b) {
		var failed error
		err := p.raw.Write(func(fd uintptr) bool {
			var n uintptr
			n, failed = Quick(unix.SYS_WRITE, fd, uintptr(unsafe.Pointer(&b[done])), uintptr(len(b)-done))
			done += int(n)
			return failed == nil || !errors.Is(failed, unix.EAGAIN)
		})
		if err == nil {
			err = failed
		}
		if err != nil {
			return done, err
		}
	}
	return done, nil
}

// Close closes the port.
func (p *Port) Close() error { return p.file.Close() }

var _ io.ReadWriteCloser = (*Port)(nil)
