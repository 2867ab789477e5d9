package daemontest

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"sync"
	"sync/atomic"
	"unsafe"

	"golang.org/x/sys/unix"
)

// refusals is memory that a daemon and its test share: which of the daemon's calls into host/ the kernel refuses.
type refusals struct {
	armed       atomic.Bool
	first, many atomic.Int64 // the number of the first call that is refused, from 1 on, and how many are
	made        atomic.Int64 // calls since it was armed
	refused     atomic.Int64
	length      atomic.Int64 // of name
	name        [64]byte     // of the first call that was refused
	only        [64]byte     // the name of the calls to refuse, up to a zero byte; empty: every call
}

// refusalsFile is below the daemon's root.
const refusalsFile = "refuse"

// openRefusals maps the memory; it makes the file where it is to.
func openRefusals(root string, create int) (*refusals, error) {
	f, err := os.OpenFile(filepath.Join(root, refusalsFile), os.O_RDWR|create, 0o600)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	size := int(unsafe.Sizeof(refusals{}))
	if err := f.Truncate(int64(size)); err != nil {
		return nil, err
	}
	b, err := unix.Mmap(int(f.Fd()), 0, size, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	if err != nil {
		return nil, fmt.Errorf("map %s: %w", f.Name(), err)
	}
	return (*refusals)(unsafe.Pointer(&b[0])), nil
}

// Refuser has the kernel refuse calls of a daemon, if Refusals was called before the daemon started.
type Refuser struct{ r *refusals }

// Refusals prepares a daemon, before it is started, for calls into host/ that fail. The kernel itself refuses: during a call, and
// until the goroutine's next call, its thread has the effective UID 65534 and no privileges. Privileged system calls fail with
// EPERM or EACCES; system calls that every user may make (reading links, say) succeed.
func (d *Daemon) Refusals() (Refuser, error) {
	r, err := openRefusals(d.Root, os.O_CREATE)
	return Refuser{r}, err
}

// During runs f while the kernel refuses many calls of the daemon, starting with call number first, counted from 1. It
// returns the name of the first call that was refused; "" when fewer were made.
func (x Refuser) During(first, many int, f func()) (call string) { return x.during("", first, many, f) }

// Always runs f while the kernel refuses every call of a name, and reports whether it refused any.
func (x Refuser) Always(call string, f func()) bool { return x.during(call, 1, 1<<30, f) != "" }

func (x Refuser) during(only string, first, many int, f func()) (call string) {
	x.r.only = [64]byte{}
	copy(x.r.only[:], only)
	x.r.first.Store(int64(first))
	x.r.many.Store(int64(many))
	x.r.made.Store(0)
	x.r.refused.Store(0)
	x.r.armed.Store(true)
	f()
	x.r.armed.Store(false)
	if x.r.refused.Load() == 0 {
		return ""
	}
	return string(x.r.name[:x.r.length.Load()])
}

// refuser is the daemon's side of Refusals, before another hook.
func refuser(root string, then func(string)) func(string) {
	r, err := openRefusals(root, 0)
	if err != nil { // the test asked for none
		return then
	}
	var mu sync.Mutex
	powerless := map[int]bool{} // threads
	return func(call string) {
		mu.Lock()
		defer mu.Unlock()
		if tid := unix.Gettid(); powerless[tid] { // the thread's previous call is over
			setThreadUser(0)
			delete(powerless, tid)
			runtime.UnlockOSThread()
		}
		then(call)
		if !r.armed.Load() || r.only[0] != 0 && call != string(r.only[:bytes.IndexByte(r.only[:], 0)]) {
			return
		}
		n := r.made.Add(1) - r.first.Load()
		if n < 0 || n >= r.many.Load() {
			return
		}
		if r.refused.Load() == 0 {
			r.length.Store(int64(copy(r.name[:], call)))
		}
		r.refused.Add(1)
		runtime.LockOSThread() // until its next call; a goroutine that makes none ends with its thread
		powerless[unix.Gettid()] = true
		setThreadUser(nobody)
	}
}

// nobody is the UID that owns no file.
const nobody = 65534

// setThreadUser changes the effective user of the calling thread alone, and with it the thread's privileges.
func setThreadUser(uid uintptr) {
	const same = ^uintptr(0)
	_, _, _ = unix.RawSyscall(unix.SYS_SETRESUID, same, uid, same)
}
