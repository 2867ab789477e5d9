package hosttest

import (
	"os"
	"syscall"
)

// WriteProgram writes an executable file, mode 0755, that can be executed at once. A child that another test forks while the file is
// open for writing holds it open until it executes its own program, and executing the file fails with ETXTBSY meanwhile (fs/exec.c,
// deny_write_access). So this process forks nothing during the write.
func WriteProgram(path string, content []byte) error {
	syscall.ForkLock.RLock()
	defer syscall.ForkLock.RUnlock()
	if err := os.WriteFile(path, content, 0o600); err != nil {
		return err
	}
	return os.Chmod(path, 0o755)
}
