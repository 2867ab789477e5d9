package tools

import (
	"os"
	"syscall"
	"testing"
)

// writeProgram writes an executable file. This process forks nothing during the write: a child would have the file open for writing, and
// executing it would fail with ETXTBSY until the child executes its own program (as hosttest.WriteProgram, of the other module).
func writeProgram(t *testing.T, path, text string) {
	t.Helper()
	syscall.ForkLock.RLock()
	defer syscall.ForkLock.RUnlock()
	if err := os.WriteFile(path, []byte(text), 0o700); err != nil {
		t.Fatal(err)
	}
}
