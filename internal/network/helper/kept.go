package helper

import (
	"context"
	"os"
	"slices"
	"sync"

	"golang.org/x/sys/unix"

	"taproom/internal/spec"
)

// kept are the packet sockets of a helper's networks, which the daemon holds too. When the last holder of one lets go, the
// kernel waits until no processor can be using it (packet_release in net/packet/af_packet.c), ten milliseconds each, and a
// process that was killed ends after all of its sockets: with a thousand networks it would be gone, and a new one there,
// ten seconds later. So nobody waits, and what guests ask meanwhile waits in the sockets for the next helper. Without one
// that could be kept everything works, and only takes its time.
type kept struct {
	leaving sync.WaitGroup // those that were let go of, until the kernel has done with them

	mu     sync.Mutex
	of     map[spec.UUID]keptSocket
	gone   []int                // of networks that are not served any more, until their links have gone
	leases map[spec.UUID]string // lease files whose names are on the disk, by their descriptors' names
}

// keptSocket is a duplicate. It is no *os.File: the runtime would wait for its frames.
type keptSocket struct {
	name string
	fd   int
}

// set holds the packet socket among the files, of those names, for a network: in place of another one, unless the network
// goes on with that.
func (k *kept) set(id spec.UUID, keep, names []string, files []*os.File) {
	k.mu.Lock()
	defer k.mu.Unlock()
	old, had := k.of[id]
	if had && (slices.Contains(keep, old.name) || slices.Contains(names, old.name)) {
		return
	}
	if had {
		delete(k.of, id)
		k.leaving.Go(func() { _ = unix.Close(old.fd) }) // whoever removes the network need not wait for that either
	}
	for i, name := range names {
		if kind, _ := ParseDescriptor(name); kind != DescFrames {
			continue
		}
		if fd, err := Duplicate(files[i]); err == nil {
			if k.of == nil {
				k.of = map[spec.UUID]keptSocket{}
			}
			k.of[id] = keptSocket{name, fd}
		}
	}
}

// Duplicate returns another descriptor of a file. It does not make the file a blocking one, as Fd would.
func Duplicate(f *os.File) (int, error) {
	raw, err := f.SyscallConn()
	if err != nil {
		return -1, err
	}
	var fd int
	if cerr := raw.Control(func(from uintptr) { fd, err = unix.FcntlInt(from, unix.F_DUPFD_CLOEXEC, 3) }); cerr != nil {
		return -1, cerr
	}
	return fd, err
}

// add adds a network's packet socket to descriptors that a helper before had, if the helper lacks it.
func (k *kept) add(id spec.UUID, has []string, taken map[string]*os.File) map[string]*os.File {
	k.mu.Lock()
	defer k.mu.Unlock()
	s, ok := k.of[id]
	if !ok || taken[s.name] != nil || slices.Contains(has, s.name) {
		return taken
	}
	fd, err := unix.FcntlInt(uintptr(s.fd), unix.F_DUPFD_CLOEXEC, 3)
	if err != nil {
		return taken
	}
	if taken == nil {
		taken = map[string]*os.File{}
	}
	taken[s.name] = os.NewFile(uintptr(fd), "packet socket")
	return taken
}

func (k *kept) has(id spec.UUID) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	_, ok := k.of[id]
	return ok
}

// onDisk reports whether the name of a network's lease file is known to outlive a loss of power.
func (k *kept) onDisk(id spec.UUID, name string) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.leases[id] == name
}

func (k *kept) putOnDisk(id spec.UUID, name string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.leases == nil {
		k.leases = map[spec.UUID]string{}
	}
	k.leases[id] = name
}

// drop is for a network that is not served any more. Its socket is let go of when somebody says that the link has gone: what the
// kernel waits for then it waits for when a link is removed, too, and twice as long where it has just begun to.
func (k *kept) drop(id spec.UUID) {
	k.mu.Lock()
	defer k.mu.Unlock()
	delete(k.leases, id)
	if s, had := k.of[id]; had {
		delete(k.of, id)
		k.gone = append(k.gone, s.fd)
	}
}

// settle lets go of what was dropped. Nobody waits for the kernel.
func (k *kept) settle() {
	k.mu.Lock()
	defer k.mu.Unlock()
	for _, fd := range k.gone {
		k.leaving.Go(func() { _ = unix.Close(fd) })
	}
	k.gone = nil
}

// closers let go at the same time: they wait for the same moment.
const closers = 16

// close lets go of all.
func (k *kept) close() {
	k.settle()
	k.mu.Lock()
	defer k.mu.Unlock()
	fds := make(chan int, len(k.of))
	for _, s := range k.of {
		fds <- s.fd
	}
	close(fds)
	k.of = nil
	var all sync.WaitGroup
	for range min(closers, len(fds)) {
		all.Go(func() {
			for fd := range fds {
				_ = unix.Close(fd)
			}
		})
	}
	all.Wait()
	k.leaving.Wait()
}

// Inherit takes over what the daemon held and knew of a helper that is lost, before the networks are set again.
func (h *Helper) Inherit(old *Helper) {
	old.kept.mu.Lock()
	of, leases := old.kept.of, old.kept.leases // what has gone closes with it
	old.kept.of, old.kept.leases = nil, nil
	old.kept.mu.Unlock()
	h.kept.mu.Lock()
	defer h.kept.mu.Unlock()
	h.kept.of, h.kept.leases = of, leases
}

// borrow asks a helper that was found running for the packet sockets of its networks.
func (h *Helper) borrow(ctx context.Context) {
	all, err := h.wire.networks(ctx)
	for _, n := range all {
		if err != nil {
			return // it is lost, or we are
		}
		err = h.borrowOne(ctx, n.UUID)
	}
}

func (h *Helper) borrowOne(ctx context.Context, id spec.UUID) error {
	h.files.Lock() // nobody sets the network meanwhile
	defer h.files.Unlock()
	if h.kept.has(id) {
		return nil
	}
	r, files, err := h.wire.exchange(ctx, Request{Op: OpLend, Network: id}, nil)
	if err != nil {
		return err
	}
	if len(files) == len(r.Has) {
		h.kept.set(id, nil, r.Has, files)
	}
	return closeFiles(files)
}
