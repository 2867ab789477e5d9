package probe

import (
	"fmt"
	"os"
	"runtime"

	"golang.org/x/sys/unix"
)

// Throwaway runs f on a thread inside a new network namespace. Both end with f, and with them all that f made.
func Throwaway(f func() error) error {
	done := make(chan error)
	go onOwnThread(func() {
		if err := unix.Unshare(unix.CLONE_NEWNET); err != nil {
			done <- fmt.Errorf("make a network namespace: %w", err)
			return
		}
		done <- f()
	})
	return <-done
}

// onOwnThread runs f on a thread that ends afterwards. The main thread does not end, so when the goroutine happens to be
// on it, it is held while another one serves.
func onOwnThread(f func()) {
	runtime.LockOSThread()
	if unix.Gettid() != os.Getpid() {
		f() // and the thread goes with this goroutine, which stays locked to it
		return
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		runtime.LockOSThread()
		f()
	}()
	<-done
	runtime.UnlockOSThread()
}
