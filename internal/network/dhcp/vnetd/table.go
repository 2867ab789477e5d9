package vnetd

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"taproom/internal/network/dhcp"
	"taproom/internal/spec"
)

// diskWaiters is how many networks may wait for storage at a time; each takes a thread of the process.
const diskWaiters = 32

// networks is what the process serves.
type networks struct {
	report func(dhcp.Event)
	disk   chan struct{}

	change sync.Mutex // one set or remove at a time
	mu     sync.Mutex // guards byID
	byID   map[spec.UUID]*network
}

func newNetworks(report func(dhcp.Event)) *networks {
	return &networks{report: report, disk: make(chan struct{}, diskWaiters), byID: map[spec.UUID]*network{}}
}

// set serves a network from now on. The files are, in this order: the configuration, the packet socket, the lease file
// and, if the daemon has one, the socket that holds the port. They are the networks' own afterwards, or closed. When
// something is wrong with them, what was served before goes on.
func (t *networks) set(files []*os.File) error {
	t.change.Lock()
	defer t.change.Unlock()
	if len(files) < 3 || len(files) > 4 {
		closeAll(files)
		return fmt.Errorf("set a network: %d descriptors came with it, not 3 or 4", len(files))
	}
	n, err := t.prepare(files)
	closeAll(files[:1])
	if err != nil {
		closeAll(files[1:])
		return err
	}
	id := n.server.Network().UUID
	old := t.get(id)
	if old != nil {
		old.halt()
		if err := n.succeed(old); err != nil { // the old one's goroutine has ended, so start it again
			closeAll(files[1:])
			old.stop, old.done = make(chan struct{}), make(chan struct{})
			go old.run()
			return err
		}
		old.close()
	}
	t.mu.Lock()
	t.byID[id] = n
	t.mu.Unlock()
	go n.run()
	return nil
}

func (t *networks) prepare(files []*os.File) (*network, error) {
	data, err := io.ReadAll(io.NewSectionReader(files[0], 0, dhcp.MaxConfig+1))
	if err != nil || len(data) > dhcp.MaxConfig {
		return nil, fmt.Errorf("read a configuration of %d bytes (at most %d): %w", len(data), dhcp.MaxConfig, err)
	}
	var config dhcp.Network
	d := json.NewDecoder(bytes.NewReader(data))
	d.DisallowUnknownFields()
	if err := d.Decode(&config); err != nil {
		return nil, fmt.Errorf("read a configuration: %w", err)
	}
	l, err := newLink(files[1])
	if err != nil {
		return nil, fmt.Errorf("serve network %s: %w", config.UUID, err)
	}
	log, leases, err := openLog(files[2], t.disk)
	if err != nil {
		return nil, fmt.Errorf("serve network %s: %w", config.UUID, err)
	}
	server, err := dhcp.NewServer(config, leases)
	if err != nil {
		return nil, err
	}
	n := &network{
		link: l, log: log, server: server, finger: config.Fingerprint(), report: t.report, now: time.Now,
		checked: time.Now().Unix(), stop: make(chan struct{}), done: make(chan struct{}),
	}
	if len(files) == 4 {
		n.holder = files[3]
	}
	return n, nil
}

// succeed takes over what the network's previous incarnation knew, which may be more than the lease file does: somebody
// may have removed that.
func (n *network) succeed(old *network) error {
	history := old.server.History()
	server, err := dhcp.NewServer(n.server.Network(), history)
	if err != nil {
		return err
	}
	if n.log.records == 0 && len(history) > 0 {
		changes := make([]dhcp.Change, len(history))
		for i, l := range history {
			changes[i].Lease = l
		}
		if err := n.log.append(changes); err != nil {
			return fmt.Errorf("write the leases of network %s to their new file: %w", n.server.Network().UUID, err)
		}
	}
	server.Inherit(old.server)
	n.server, n.checked = server, old.checked
	return nil
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
	n.halt()
	n.close()
}

func (t *networks) close() {
	for _, n := range t.sorted() {
		t.remove(n.server.Network().UUID)
	}
}

func (t *networks) get(id spec.UUID) *network {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.byID[id]
}

// sorted returns the networks by UUID.
func (t *networks) sorted() []*network {
	t.mu.Lock()
	defer t.mu.Unlock()
	ids := make([]spec.UUID, 0, len(t.byID))
	for id := range t.byID {
		ids = append(ids, id)
	}
	slices.SortFunc(ids, func(a, b spec.UUID) int { return strings.Compare(a.String(), b.String()) })
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
