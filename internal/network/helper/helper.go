package helper

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"taproom/internal/host"
	"taproom/internal/network/lease"
	"taproom/internal/spec"
)

// HelperOptions say where things are.
type HelperOptions struct {
	Kernel   *host.Kernel
	Program  string // taproom-vnet
	Dir      string // for its socket, pid file and log: /run/taproom/vnet
	LeaseDir string // for lease files: /var/lib/taproom/dhcp
	Cgroup   string // of its own; empty: stays in the daemon's and dies with that
	UID, GID int    // nobody else's
	// Connects lets the process connect to guests, for forwards. One that does not is kept from it.
	Connects bool
	Build    string // of the program as the daemon knows it: one of another build is replaced; empty: any will do
}

// Helper is the process that answers, as the daemon sees it. The methods may be called from several goroutines. One that
// is lost stays lost: open another one and set every network again.
type Helper struct {
	o       HelperOptions
	k       *host.Kernel
	wire    *wire
	hello   Hello
	process *host.PIDFD
	wait    func(context.Context) error // for the process to end
	adopted bool
	former  *former // the process before this one, while it serves something; nil and none are the same
	kept    kept
	// unserved are networks that the process was just asked for.
	unserved unserved

	events  chan Event
	compact chan spec.UUID
	over    chan struct{} // closed when the process has ended
	lost    chan struct{} // closed then, or when it hung up
	cancel  context.CancelFunc
	group   sync.WaitGroup

	files sync.Mutex // lease files are opened and replaced one at a time
}

// eventQueue is how many events wait for the daemon before it is told that it missed some.
const eventQueue = 4096

// Hello returns what the helper says about itself.
func (h *Helper) Hello() Hello { return h.hello }

// Adopted reports whether the helper was found running.
func (h *Helper) Adopted() bool { return h.adopted }

// Lost is closed when the helper has ended or hung up, for whatever reason.
func (h *Helper) Lost() <-chan struct{} { return h.lost }

// Events delivers what the clients of all networks do. A reader that is too slow gets an event with Missed set.
func (h *Helper) Events() <-chan Event { return h.events }

// Close lets go of the helper, once; it goes on answering, and Open finds it again.
func (h *Helper) Close() error {
	h.cancel()
	h.wire.close()
	h.group.Wait()
	h.kept.close()
	return errors.Join(h.process.Close(), h.former.close())
}

// Stop ends the helper and lets go of it. Leases stay in their files.
func (h *Helper) Stop(ctx context.Context) error {
	_, err := h.wire.call(ctx, Request{Op: OpQuit})
	if errors.Is(err, ErrLost) {
		err = nil // it may have ended before it could say so
	}
	err = errors.Join(err, h.former.end(ctx))
	select {
	case <-h.over:
	case <-ctx.Done():
		err = errors.Join(err, fmt.Errorf("wait for the network helper to end: %w", ctx.Err()))
	}
	err = errors.Join(err, h.Close())
	if err == nil {
		err = errors.Join(h.k.Remove(h.o.path(socketName)), h.k.Remove(h.o.path(pidName)))
	}
	if err == nil && h.o.Cgroup != "" {
		err = h.k.RemoveCgroup(ctx, h.o.Cgroup)
	}
	return err
}

// Observe returns what is being served, by UUID, of the networks that are named or of all: read from the helper, never from memory. What the helper before this one
// still serves has no fingerprint, so it equals nothing that is wanted.
func (h *Helper) Observe(ctx context.Context, only ...spec.UUID) ([]Observed, error) {
	when := h.unserved.now()
	all, err := h.wire.networks(ctx, only...)
	if err != nil {
		return nil, err
	}
	h.unserved.note(when, all, only)
	late, err := h.former.networks(ctx, only...)
	if err != nil {
		return nil, err
	}
	for _, n := range late {
		n.Fingerprint = ""
		if !slices.ContainsFunc(all, func(o Observed) bool { return o.UUID == n.UUID }) {
			all = append(all, n)
		}
	}
	slices.SortFunc(all, func(a, b Observed) int { return strings.Compare(a.UUID.String(), b.UUID.String()) })
	return all, nil
}

// networks lists what a process serves, of the networks that are named or of all.
func (w *wire) networks(ctx context.Context, only ...spec.UUID) ([]Observed, error) {
	var all []Observed
	for _, id := range only {
		found, err := w.list(ctx, Request{Op: OpList, Network: id})
		if err != nil {
			return nil, err
		}
		// A process of an earlier build lists all of its networks.
		all = append(all, slices.DeleteFunc(found, func(o Observed) bool { return o.UUID != id })...)
	}
	if len(only) > 0 {
		return all, nil
	}
	return w.list(ctx, Request{Op: OpList})
}

// list reads all pages of a list.
func (w *wire) list(ctx context.Context, q Request) ([]Observed, error) {
	var all []Observed
	for {
		r, err := w.call(ctx, q)
		if err != nil {
			return nil, err
		}
		all = append(all, r.Networks...)
		if !r.More || len(r.Networks) == 0 {
			return all, nil
		}
		q.After = all[len(all)-1].UUID.String()
	}
}

// Set serves a network on the link with an index, in place of what was served for its UUID. Clients notice nothing. When
// it fails, what was served before still is.
func (h *Helper) Set(ctx context.Context, n Network, index int) error {
	if err := n.Validate(); err != nil {
		return err
	}
	h.files.Lock()
	defer h.files.Unlock()
	defer h.unserved.set(n.UUID)
	var tried []string // some of these there may be no socket for
	for {
		has, err := h.has(ctx, n.UUID)
		if err != nil {
			return err
		}
		some := n.within(slices.Concat(has, tried), index)
		if err := h.set(ctx, some, index, has); err != nil || len(some.Forwards) == len(n.Forwards) {
			return err
		}
		for _, f := range some.Forwards {
			tried = append(tried, f.descriptor(index))
		}
	}
}

// set is Set with what one message brings. The process has descriptors of the network already.
func (h *Helper) set(ctx context.Context, n Network, index int, has []string) (err error) {
	leases, err := h.leaseFile(n.UUID)
	if err != nil {
		return fmt.Errorf("serve %s: %w", n.Bridge, err)
	}
	want, err := descriptors(h.k, n, index)
	if err != nil {
		return fmt.Errorf("serve %s: %w", n.Bridge, err)
	}
	config, err := host.MemoryFile("network", n.JSON())
	if err != nil {
		return fmt.Errorf("serve %s: %w", n.Bridge, err)
	}
	defer func() { err = errors.Join(err, config.Close()) }()
	// From here on questions wait in the sockets, whoever had them.
	taken, err := h.former.take(ctx, n.UUID)
	if err != nil {
		return err
	}
	taken = h.kept.add(n.UUID, has, taken)
	defer func() { err = errors.Join(err, closeFiles(slices.Collect(maps.Values(taken)))) }()
	sent, err := h.handOver(n, config, append([]descriptor{leases}, want...), has, taken)
	if sent != nil {
		err = errors.Join(err, h.finish(ctx, n, sent))
	}
	if err != nil {
		return err
	}
	return h.former.finish(ctx)
}

// leaseFile is the descriptor of a network's lease file, which there is from now on.
func (h *Helper) leaseFile(id spec.UUID) (descriptor, error) {
	if err := h.k.Mkdir(h.o.LeaseDir, 0o700); err != nil {
		return descriptor{}, err
	}
	name := DescLeases + " none"
	if f, err := h.k.OpenFile(h.o.leases(id), os.O_RDONLY, 0); err == nil {
		is, err := identity(f)
		if err = errors.Join(err, f.Close()); err != nil {
			return descriptor{}, err
		}
		name = DescLeases + " " + is
	}
	return descriptor{name, func() (*os.File, error) { return h.openLeases(id, name) }}, nil
}

// openLeases opens the file that was there under a descriptor's name, or makes one. The name of one that this daemon has
// opened before is on the disk: a helper that is replaced does not wait for the disk a thousand times.
func (h *Helper) openLeases(id spec.UUID, was string) (*os.File, error) {
	f, err := h.k.OpenFile(h.o.leases(id), os.O_RDWR|os.O_APPEND|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
	is, err := identity(f)
	if is = DescLeases + " " + is; err == nil && (is != was || !h.kept.onDisk(id, is)) {
		err = h.k.SyncDir(h.o.LeaseDir)
	}
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	h.kept.putOnDisk(id, is)
	return f, nil
}

// Remove stops serving a network. One that is not served is no error. Its leases stay for the next time; Forget drops
// them.
func (h *Helper) Remove(ctx context.Context, id spec.UUID) error {
	_, err := h.wire.call(ctx, Request{Op: OpRemove, Network: id})
	h.kept.drop(id)
	return errors.Join(err, h.former.remove(ctx, id))
}

// Settle is for after links of networks that were removed have gone. Until then their packet sockets stay: letting go of one
// makes the kernel take longer for the link.
func (h *Helper) Settle() { h.kept.settle() }

// Forget removes the lease file of a network that is not served any more and will not be again.
func (h *Helper) Forget(id spec.UUID) error {
	h.files.Lock()
	defer h.files.Unlock()
	h.unserved.forget(id)
	return ForgetLeases(h.o, id)
}

// ForgetLeases is Forget for when no helper runs.
func ForgetLeases(o HelperOptions, id spec.UUID) error {
	return errors.Join(o.Kernel.Remove(o.leases(id)), o.Kernel.Remove(o.leases(id)+newSuffix))
}

// LeaseOwners lists the networks that have a lease file.
func LeaseOwners(o HelperOptions) ([]spec.UUID, error) {
	entries, err := o.Kernel.ReadDir(o.LeaseDir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	var ids []spec.UUID
	for _, e := range entries {
		name := strings.TrimSuffix(e.Name(), newSuffix)
		if id, perr := spec.ParseUUID(strings.TrimSuffix(name, leaseSuffix)); perr == nil && !slices.Contains(ids, id) {
			ids = append(ids, id)
		}
	}
	return ids, err
}

// Leases returns the leases of a network that hold now, by address.
func (h *Helper) Leases(ctx context.Context, id spec.UUID) ([]lease.Record, error) {
	var all []lease.Record
	q := Request{Op: OpLeases, Network: id}
	for {
		r, err := h.wire.call(ctx, q)
		if err != nil {
			return nil, err
		}
		all = append(all, r.Leases...)
		if !r.More || len(r.Leases) == 0 {
			return all, nil
		}
		q.After = all[len(all)-1].IP.String()
	}
}

// Stats returns a network's counters.
func (h *Helper) Stats(ctx context.Context, id spec.UUID) (Stats, error) {
	r, err := h.wire.call(ctx, Request{Op: OpStats, Network: id})
	if err != nil {
		return Stats{}, err
	}
	return *r.Stats, nil
}

// SetResolvers tells which resolvers of the host names are forwarded to, for all networks.
func (h *Helper) SetResolvers(ctx context.Context, to []netip.AddrPort) error {
	_, err := h.wire.call(ctx, Request{Op: OpResolvers, Resolvers: to})
	return err
}

// Lookup returns what a guest of a network would be answered.
func (h *Helper) Lookup(ctx context.Context, id spec.UUID, name, kind string) (Answer, error) {
	r, err := h.wire.call(ctx, Request{Op: OpLookup, Network: id, Name: name, Type: kind})
	if err != nil {
		return Answer{}, err
	}
	return *r.Answer, nil
}

// Compact replaces a network's lease file by one without history. Both files are kept up to date until the new one has
// the name, so whatever ends in between, the file with the name is complete.
func (h *Helper) Compact(ctx context.Context, id spec.UUID) error {
	h.files.Lock()
	defer h.files.Unlock()
	path := h.o.leases(id)
	// What an interrupted compaction left is still being written, so it is replaced and not emptied.
	err := h.k.Remove(path + newSuffix)
	if err != nil {
		return fmt.Errorf("compact the leases of network %s: %w", id, err)
	}
	f, err := h.k.OpenFile(path+newSuffix, os.O_RDWR|os.O_APPEND|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return fmt.Errorf("compact the leases of network %s: %w", id, err)
	}
	_, err = h.wire.call(ctx, Request{Op: OpCompact, Network: id}, f)
	if err = errors.Join(err, f.Close()); err == nil {
		if err = h.k.Rename(path+newSuffix, path); err == nil {
			err = h.k.SyncDir(h.o.LeaseDir)
		}
	}
	if err == nil {
		_, err = h.wire.call(ctx, Request{Op: OpCommit, Network: id})
	}
	if err != nil {
		return fmt.Errorf("compact the leases of network %s: %w", id, err)
	}
	return nil
}

const (
	leaseSuffix = ".leases"
	newSuffix   = ".new" // of a lease file that is being compacted
)

func (o *HelperOptions) leases(id spec.UUID) string {
	return filepath.Join(o.LeaseDir, id.String()+leaseSuffix)
}

func (o *HelperOptions) path(name string) string { return filepath.Join(o.Dir, name) }
