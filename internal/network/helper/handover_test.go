package helper_test

import (
	"slices"
	"sync"
	"syscall"
	"testing"

	"taproom/internal/host"
)

// A child that is started while the daemon has a socket open holds a copy until it executes its program. A helper that ended
// right after it was given the socket could not be replaced meanwhile: "udp 10.9.0.1:53 is in use".
func TestHandOver_StartsNoProcessWhileTheDaemonHasTheSockets(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	var mu sync.Mutex
	var during, forkable []string
	watched := false
	hook := func(call string) {
		mu.Lock()
		defer mu.Unlock()
		if !watched || !slices.Contains([]string{"udp socket open", "tcp socket open", "packet socket open", "message with descriptors"}, call) {
			return
		}
		if len(during) == 0 && call == "message with descriptors" {
			return // asks which descriptors the helper has
		}
		during = append(during, call)
		if syscall.ForkLock.TryLock() { // held by whoever starts a process (os/exec, syscall.ForkExec)
			syscall.ForkLock.Unlock()
			forkable = append(forkable, call)
		}
	}
	kernel := host.New(host.Options{Hook: hook, Run: s.host.Do})
	defer kernel.Close()
	if err := s.h.Stop(s.ctx); err != nil { // one that is found running is asked for its sockets beside the test
		t.Fatal(err)
	}
	s.o.Kernel = kernel
	s.open()
	mu.Lock()
	watched = true
	mu.Unlock()
	s.serveDual(dual())
	mu.Lock()
	defer mu.Unlock()
	watched = false
	if len(during) < 6 || during[len(during)-1] != "message with descriptors" {
		t.Fatalf("the daemon opened and sent %q", during)
	}
	if len(forkable) > 0 {
		t.Errorf("another goroutine can start a process at %q of %q", forkable, during)
	}
}
