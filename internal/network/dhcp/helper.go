package dhcp

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"taproom/internal/host"
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
	return h.process.Close()
}

// Stop ends the helper and lets go of it. Leases stay in their files.
func (h *Helper) Stop(ctx context.Context) error {
	_, err := h.wire.call(ctx, Request{Op: OpQuit})
	if errors.Is(err, ErrLost) {
		err = nil // it may have ended before it could say so
	}
	select {
	case <-h.over:
	case <-ctx.Done():
		err = errors.Join(err, fmt.Errorf("wait for the DHCP helper to end: %w", ctx.Err()))
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

// Observe returns what is being served, by UUID: read from the helper, never from memory.
func (h *Helper) Observe(ctx context.Context) ([]Observed, error) {
	var all []Observed
	q := Request{Op: OpList}
	for {
		r, err := h.wire.call(ctx, q)
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
func (h *Helper) Set(ctx context.Context, n Network, index int) (err error) {
	if err := n.Validate(); err != nil {
		return err
	}
	h.files.Lock()
	defer h.files.Unlock()
	var files []*os.File
	defer func() {
		for _, f := range files {
			err = errors.Join(err, f.Close())
		}
	}()
	for _, open := range []func() (*os.File, error){
		func() (*os.File, error) { return configFile(h.k, n.JSON()) },
		func() (*os.File, error) { return OpenSocket(h.k, index) },
		func() (*os.File, error) { return h.openLeases(n.UUID) },
		func() (*os.File, error) { return holdPort(h.k, n.Bridge) },
	} {
		f, err := open()
		if err != nil {
			return fmt.Errorf("serve DHCP on %s: %w", n.Bridge, err)
		}
		if f != nil {
			files = append(files, f)
		}
	}
	_, err = h.wire.call(ctx, Request{Op: OpSet, Network: n.UUID}, files...)
	return err
}

func (h *Helper) openLeases(id spec.UUID) (*os.File, error) {
	if err := h.k.Mkdir(h.o.LeaseDir, 0o700); err != nil {
		return nil, err
	}
	f, err := h.k.OpenFile(h.o.leases(id), os.O_RDWR|os.O_APPEND|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
	if err := h.k.SyncDir(h.o.LeaseDir); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

// Remove stops serving a network. One that is not served is no error. Its leases stay for the next time; Forget drops
// them.
func (h *Helper) Remove(ctx context.Context, id spec.UUID) error {
	_, err := h.wire.call(ctx, Request{Op: OpRemove, Network: id})
	return err
}

// Forget removes the lease file of a network that is not served any more and will not be again.
func (h *Helper) Forget(id spec.UUID) error {
	h.files.Lock()
	defer h.files.Unlock()
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
func (h *Helper) Leases(ctx context.Context, id spec.UUID) ([]Lease, error) {
	var all []Lease
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
