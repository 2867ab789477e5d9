package daemontest

import (
	"errors"
	"io"
	"os"
	"strings"

	"taproom/internal/host"
)

// transcript is what a process writes. It is memory that both share, so what the process wrote can be read at once.
type transcript struct{ f *os.File }

func newTranscript() (*transcript, error) {
	f, err := host.MemoryFile("said", nil)
	return &transcript{f}, err
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
