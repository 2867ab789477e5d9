package engine

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"
)

func TestALogThatGrowsTooLongBeginsAnew(t *testing.T) {
	t.Parallel()
	e := small(t)
	path := filepath.Join(e.paths.Logs(), "talks.log")
	if err := os.MkdirAll(e.paths.Logs(), 0o700); err != nil {
		t.Fatal(err)
	}
	qemu, err := os.OpenFile(path, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	defer qemu.Close()
	write := func(b []byte) {
		t.Helper()
		if _, err := qemu.Write(b); err != nil {
			t.Fatal(err)
		}
		e.tendLog("")
	}
	size := func(path string) int64 {
		st, err := os.Stat(path)
		if err != nil {
			return -1
		}
		return st.Size()
	}
	write(bytes.Repeat([]byte("a"), logMost))
	if got := [2]int64{size(path), size(path + logBefore)}; got != [2]int64{logMost, -1} {
		t.Errorf("a log of just the length: %v", got)
	}
	write([]byte("end"))
	write([]byte("next"))
	if got := [2]int64{size(path), size(path + logBefore)}; got != [2]int64{4, logMost} {
		t.Errorf("a log beyond it, and what came next: %v", got)
	}
	if b, err := os.ReadFile(path + logBefore); err != nil || !bytes.HasSuffix(b, []byte("aaaend")) {
		t.Errorf("its end was not kept: %v", err)
	}
}
