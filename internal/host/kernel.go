package host

import (
	"os"
	"sync"
	"syscall"
	"time"
)

// Kernel is the one door to the Linux kernel. It may be used from several goroutines.
type Kernel struct {
	hook    func(call string)
	run     func(func())
	counter *Counter // nil: nothing is counted

	mu   sync.Mutex
	open map[*rtnl]bool // every rtnetlink socket
	idle []*rtnl        // those nobody talks on

	children map[processKey]*child // that were started and not reaped
	buried   map[*child]*os.File   // released children that a goroutine waits for
}

// Options configure a Kernel. The zero value is the production one.
type Options struct {
	// Hook is called before every call, on the caller's goroutine, with the call's name ("link create", "file rename").
	Hook func(call string)
	// Run executes what depends on the caller's network namespace. Tests pass one that runs on a thread inside a
	// namespace of their own; nil runs in place.
	Run func(func())
	// Counter counts calls and netlink messages; nil counts nothing.
	Counter *Counter
}

// New returns a Kernel. Close it to give its sockets back.
func New(o Options) *Kernel {
	k := &Kernel{hook: o.Hook, run: o.Run, counter: o.Counter, open: map[*rtnl]bool{}, children: map[processKey]*child{}, buried: map[*child]*os.File{}}
	if k.hook == nil {
		k.hook = func(string) {}
	}
	if k.run == nil {
		k.run = func(f func()) { f() }
	}
	return k
}

// Step announces a call. Packages below host that make calls of their own (host/nft) use it too.
func (k *Kernel) Step(call string) {
	if k.counter != nil {
		k.counter.call(call)
	}
	k.hook(call)
}

// InNetNS runs f where the Kernel's network namespace is the current one. f must not end its goroutine.
func (k *Kernel) InNetNS(f func()) { k.run(f) }

// WithoutForks runs f as InNetNS does, while this process starts no other. A child has copies of all descriptors until it
// executes its program, so a socket that is closed outside of f can keep its address busy for some milliseconds more. f must not
// start a process, and other goroutines that start a process wait for f.
func (k *Kernel) WithoutForks(f func()) {
	// ForkLock is the inner lock: a goroutine that starts a process inside a namespace's thread waits for ForkLock there.
	k.run(func() {
		syscall.ForkLock.RLock()
		defer syscall.ForkLock.RUnlock()
		f()
	})
}

// Close gives back the netlink sockets, and no longer waits for released children. A Kernel that is used again afterwards
// opens new sockets.
func (k *Kernel) Close() {
	k.mu.Lock()
	defer k.mu.Unlock()
	for c := range k.open {
		c.close()
	}
	clear(k.open)
	k.idle = nil
	for _, f := range k.buried {
		_ = f.SetReadDeadline(time.Unix(1, 0))
	}
}
