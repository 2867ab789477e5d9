package daemontest

import (
	"errors"
	"io"
	"os"
	"strings"

	"golang.org/x/sys/unix"
)

// transcript is what a process writes. It is memory that both share, so what the process wrote can be read at once.
type transcript struct{ f *os.File }

func newTranscript() (*transcript, error) {
	fd, err := unix.MemfdCreate("said", unix.MFD_CLOEXEC)
	if err != nil {
		return nil, os.NewSyscallError("memfd_create", err)
	}
	return &transcript{os.NewFile(uintptr(fd), "said")}, nil
}

// String returns what was written so far.
func (s *transcript) String() string {
	info, err := s.f.Stat()
	if err != nil {
		return err.Error()
	}
	b := make([]byte, info.Size())
	n, err := s.f.ReadAt(b, 0)
	if err != nil && !errors.Is(err, io.EOF) {
		return err.Error()
	}
	return strings.TrimSpace(string(b[:n]))
}
