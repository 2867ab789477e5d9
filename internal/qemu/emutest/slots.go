package emutest

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"

	"golang.org/x/sys/unix"
)

// Boot waits until fewer machines boot on this host than it has cores, in all test processes of this user. The test counts as
// one of them until it calls booted, or ends; booted may be called more than once.
//
// A test that holds a slot must not ask for a second one: tests that all did so would wait for each other. A test that boots a
// crowd at once takes one slot for the crowd.
func Boot(t testing.TB) (booted func()) {
	t.Helper()
	booted, err := take(t, slotFolder(), runtime.NumCPU())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(booted)
	return booted
}

// take is Boot for any holder and folder.
func take(holder any, folder string, n int) (booted func(), err error) {
	if _, holds := holders.LoadOrStore(holder, true); holds {
		return nil, errors.New("boot slot: this test holds one already; call booted first")
	}
	release, err := acquire(folder, n)
	if err != nil {
		holders.Delete(holder)
		return nil, err
	}
	return sync.OnceFunc(func() {
		release()
		holders.Delete(holder)
	}), nil
}

// holders are the tests of this process that hold a slot.
var holders sync.Map

// turn spreads the waiting tests of this process over the slots.
var turn atomic.Int64

// slotFolder is shared by all test processes of this user.
func slotFolder() string {
	return filepath.Join(os.TempDir(), "taproom-boots-"+strconv.Itoa(os.Getuid()))
}

// acquire locks one of n files in a folder. The lock ends with release, or with the process: programs that it starts do not
// inherit the descriptor, and it is no os.File, which the garbage collector would close where release is not kept. When all
// are locked, acquire blocks on one of them until its holder releases it; flock(2) cannot be cancelled, and nothing is
// notified of a released lock but a blocked flock.
func acquire(folder string, n int) (release func(), err error) {
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return nil, fmt.Errorf("make the folder of boot slots: %w", err)
	}
	for i := range n {
		release, err := lock(folder, i, unix.LOCK_NB)
		if err == nil {
			return release, nil
		}
		if !errors.Is(err, unix.EWOULDBLOCK) {
			return nil, err
		}
	}
	return lock(folder, int(int64(os.Getpid())+turn.Add(1))%n, 0)
}

// lock locks slot i. The file stays: removing it would leave its holder with a lock that nobody sees.
func lock(folder string, i, how int) (release func(), err error) {
	path := filepath.Join(folder, strconv.Itoa(i))
	fd, err := unix.Open(path, unix.O_RDWR|unix.O_CREAT|unix.O_CLOEXEC, 0o600)
	if err != nil {
		return nil, fmt.Errorf("open boot slot %s: %w", path, err)
	}
	for {
		err = unix.Flock(fd, unix.LOCK_EX|how)
		if err == nil {
			return func() { _ = unix.Close(fd) }, nil
		}
		if !errors.Is(err, unix.EINTR) {
			return nil, errors.Join(fmt.Errorf("lock boot slot %s: %w", path, err), unix.Close(fd))
		}
	}
}
