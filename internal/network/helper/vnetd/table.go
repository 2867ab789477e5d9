package vnetd

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/netip"
	"os"
	"slices"
	"sync"

	"taproom/internal/network/dns"
	"taproom/internal/network/helper"
	"taproom/internal/network/lease"
	"taproom/internal/network/proxy"
	"taproom/internal/network/tftp"
	"taproom/internal/spec"
)

// diskWaiters is how many networks may wait for storage at a time; each takes a thread of the process.
const diskWaiters = 32

// maxTransfers is how many files are sent at a time, to guests of all networks.
const maxTransfers = 1024

// networks is what the process serves.
type networks struct {
	ctx     context.Context // of everything that runs for a network
	clock   lease.Clock
	report  func(helper.Event)
	hook    Hook
	noLimit bool
	disk    chan struct{}
	names   *dns.Shared
	rooms   *sync.Pool // that links receive into
	// transfers bounds those of TFTP.
	transfers *tftp.Limit
	carried   *proxy.Limit // bounds those of forwards

	leaving sync.WaitGroup // packet sockets of networks that have gone

	change sync.Mutex // one set or remove at a time
	mu     sync.Mutex // guards byID
	byID   map[spec.UUID]*network
}

func newNetworks(ctx context.Context, clock lease.Clock, report func(helper.Event)) *networks {
	return &networks{
		ctx: ctx, clock: clock, report: report, disk: make(chan struct{}, diskWaiters), names: dns.NewShared(dns.Options{Clock: clock}), transfers: tftp.NewLimit(maxTransfers), carried: proxy.NewLimit(maxCarried),
		rooms: newRooms(), byID: map[spec.UUID]*network{},
	}
}

// set serves a network from now on. The files are the configuration and what the request says is new; they are the
// network's own afterwards, or closed. When something is wrong, what was served before goes on.
func (t *networks) set(q helper.Request, files []*os.File) error {
	t.change.Lock()
	defer t.change.Unlock()
	if len(files) != 1+len(q.New) {
		closeAll(files)
		return fmt.Errorf("set a network: %d descriptors came with it, not %d", len(files), 1+len(q.New))
	}
	config, err := readConfig(files[0])
	files[0].Close()
	if err != nil {
		closeAll(files[1:])
		return err
	}
	old := t.get(config.UUID)
	has, file, err := old.take(q, files[1:])
	if err != nil {
		return fmt.Errorf("set network %s: %w", config.UUID, err)
	}
	var had []netip.Addr
	if old != nil {
		had = addresses(old.config())
		if err = old.become(config, has, file); err != nil {
			has.closeExcept(old.held)
		}
	} else {
		var n *network
		if n, err = t.start(config, has, file); err == nil {
			t.mu.Lock()
			t.byID[config.UUID] = n
			t.mu.Unlock()
		} else {
			has.closeExcept(nil)
		}
	}
	if err != nil && file != nil {
		file.Close()
	}
	if err == nil {
		t.own(had, addresses(config))
	}
	return err
}

// own tells the servers of names where we answer ourselves: nothing is forwarded there, where it would come back.
func (t *networks) own(had, have []netip.Addr) {
	if !slices.Equal(had, have) {
		t.names.ChangeOwn(had, have)
	}
}

func addresses(c helper.Network) []netip.Addr {
	if c.DNS == nil {
		return nil
	}
	return c.DNS.Addresses
}

// take returns what a network will hold: what came with a request, and what it has and keeps. The lease file is nil if it
// stays the same. The files are taken or closed.
func (n *network) take(q helper.Request, files []*os.File) (has held, leases *os.File, err error) {
	has = held{}
	for i, name := range q.New {
		if kind, _ := helper.ParseDescriptor(name); kind == helper.DescLeases {
			leases = files[i]
			continue
		}
		c, herr := hold(name, files[i])
		if err = errors.Join(err, herr); herr == nil {
			has[name] = c
		}
	}
	for _, name := range q.Keep {
		if kind, _ := helper.ParseDescriptor(name); kind == helper.DescLeases && n != nil {
			continue
		}
		if n == nil || n.held[name] == nil {
			err = errors.Join(err, fmt.Errorf("%q is to be kept, and there is none", name))
			continue
		}
		has[name] = n.held[name]
	}
	if err != nil {
		var kept held
		if n != nil {
			kept = n.held
		}
		has.closeExcept(kept)
		if leases != nil {
			leases.Close()
		}
		return nil, nil, err
	}
	return has, leases, nil
}

func readConfig(f *os.File) (helper.Network, error) {
	var config helper.Network
	data, err := io.ReadAll(io.NewSectionReader(f, 0, helper.MaxConfig+1))
	if err != nil || len(data) > helper.MaxConfig {
		return config, fmt.Errorf("read a configuration of %d bytes (at most %d): %w", len(data), helper.MaxConfig, err)
	}
	d := json.NewDecoder(bytes.NewReader(data))
	d.DisallowUnknownFields()
	if err := d.Decode(&config); err != nil {
		return config, fmt.Errorf("read a configuration: %w", err)
	}
	return config, config.Validate()
}

func (t *networks) remove(id spec.UUID) {
	t.change.Lock()
	defer t.change.Unlock()
	n := t.get(id)
	if n == nil {
		return
	}
	t.mu.Lock()
	delete(t.byID, id)
	t.mu.Unlock()
	n.end()
	t.own(addresses(n.config()), nil)
}

// take stops serving a network without a word to its guests and gives its descriptors back, for another process.
func (t *networks) take(id spec.UUID) ([]string, []*os.File, error) {
	t.change.Lock()
	defer t.change.Unlock()
	n := t.get(id)
	if n == nil {
		return nil, nil, nil
	}
	names, files, err := n.held.give()
	if err != nil {
		return nil, nil, fmt.Errorf("give network %s away: %w", id, err)
	}
	t.mu.Lock()
	delete(t.byID, id)
	t.mu.Unlock()
	n.close()
	t.own(addresses(n.config()), nil)
	return names, files, nil
}

// lend gives a duplicate of a network's packet socket.
func (t *networks) lend(id spec.UUID) ([]string, []*os.File, error) {
	t.change.Lock()
	defer t.change.Unlock()
	n := t.get(id)
	if n == nil {
		return nil, nil, nil
	}
	frames := held{}
	for name, c := range n.held {
		if kind, _ := helper.ParseDescriptor(name); kind == helper.DescFrames {
			frames[name] = c
		}
	}
	return frames.give()
}

// close lets go of all networks without a word to their guests, whom the next process serves.
func (t *networks) close() {
	t.change.Lock()
	defer t.change.Unlock()
	for _, n := range t.sorted() {
		n.close()
	}
	t.leaving.Wait()
}

func (t *networks) get(id spec.UUID) *network {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.byID[id]
}

// has lists the descriptors that a network holds.
func (t *networks) has(id spec.UUID) []string {
	t.change.Lock()
	defer t.change.Unlock()
	n := t.get(id)
	if n == nil {
		return nil
	}
	return n.holds()
}

// sorted returns the networks by UUID.
func (t *networks) sorted() []*network {
	t.mu.Lock()
	defer t.mu.Unlock()
	ids := make([]spec.UUID, 0, len(t.byID))
	for id := range t.byID {
		ids = append(ids, id)
	}
	slices.SortFunc(ids, func(a, b spec.UUID) int { return bytes.Compare(a[:], b[:]) })
	all := make([]*network, len(ids))
	for i, id := range ids {
		all[i] = t.byID[id]
	}
	return all
}

func closeAll(files []*os.File) {
	for _, f := range files {
		f.Close()
	}
}
