package launch

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// TestToolsThatSomebodyElseReadsUnderALockAreTaken: a User-Mode Linux does so, and QEMU would not begin, or leave a clone stopped.
func TestToolsThatSomebodyElseReadsUnderALockAreTaken(t *testing.T) {
	t.Parallel()
	s := spec(t, WayCold)
	s.Files.Tools = filepath.Join(t.TempDir(), "tools")
	if err := os.WriteFile(s.Files.Tools, make([]byte, 1<<20), 0o600); err != nil {
		t.Fatal(err)
	}
	f, err := os.Open(s.Files.Tools)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if err := unix.FcntlFlock(f.Fd(), unix.F_OFD_SETLK, &unix.Flock_t{Type: unix.F_RDLCK}); err != nil {
		t.Fatal(err)
	}
	l, err := open(t, s)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	r, err := run(t.Context(), l.k, l.runSpec(ownMemory, nil))
	if err != nil {
		t.Fatal(err)
	}
	if err := r.end(); err != nil {
		t.Error(err)
	}
}

func TestAStateThatWasTakenAndAGuestThatDoesNotRunIsAnError(t *testing.T) {
	t.Parallel()
	from, to, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := to.WriteString("Failed to get a lock\n"); err != nil {
		t.Fatal(err)
	}
	to.Close()
	r := &running{resumed: make(chan struct{}), saved: make(chan error, 1), output: readOutput(from)}
	defer r.output.close()
	<-r.output.done
	failed := errors.New("the state was refused")
	if err := r.stopped(nil); err == nil || !strings.Contains(err.Error(), "stopped; the last that it said: Failed to get a lock") {
		t.Errorf("taken, and stopped: %v", err)
	}
	if err := r.stopped(failed); !errors.Is(err, failed) {
		t.Errorf("refused: %v", err)
	}
	close(r.resumed)
	if err := r.stopped(nil); err != nil {
		t.Errorf("taken, and it runs: %v", err)
	}
}
