package qemu

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
)

// FuzzReadPIDFile: no content of a pid file names init, no process at all, or anything but a number and a start.
func FuzzReadPIDFile(f *testing.F) {
	for _, seed := range []string{"", "{}", `{"pid":7,"start":9}`, `{"pid":1,"start":9}`, `{"pid":-7,"start":9}`, `{"pid":1e99}`, "7\n", "\x00", `{"pid":7,"start":9}{`} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, content []byte) {
		path := filepath.Join(t.TempDir(), "pid")
		if err := os.WriteFile(path, content, 0o600); err != nil {
			t.Fatal(err)
		}
		r, err := ReadPIDFile(kernel(), path)
		switch {
		case err == nil && (r.PID <= 1 || r.Start == 0):
			t.Errorf("%q names process %d, started at %d", content, r.PID, r.Start)
		case err != nil && len(content) <= 4096 && !errors.Is(err, ErrNotRunning):
			t.Errorf("%q: %v", content, err)
		}
	})
}
