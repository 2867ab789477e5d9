// Package servertest has a server.Backend in memory, and a server around it on a socket of its own.
package servertest

import (
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"

	"taproom/internal/api/server"
	"taproom/internal/api/virterr"
	"taproom/internal/spec"
)

// Fake is a Backend in memory. It holds documents as they were written and pretends that guests run. It is safe for
// concurrent use.
type Fake struct {
	noStorage
	filters

	// Block, when set, is called with the name of every call that has a context, before it does anything: tests hold a
	// call up with it, make it fail, or make it panic.
	Block func(call string) error
	// Console returns the other end of a console; nil echoes what is typed.
	Console func() (io.ReadWriteCloser, error)
	// Job is the one of every domain.
	Job server.Job

	mu       sync.Mutex
	domains  []*domain // by name
	networks []*network
	said     map[said]string
	saved    map[string]string // documents by path
	nextID   int32
	sinks    map[int]func(server.Event)
	nextSink int
}

var _ server.Backend = (*Fake)(nil)

type domain struct {
	server.Domain
	doc string
	mem uint64
	max uint64
	cpu uint16
}

type network struct {
	server.Network
	doc string
}

// document is what the fake reads of a document.
type document struct {
	XMLName xml.Name
	Name    string `xml:"name"`
	UUID    string `xml:"uuid"`
	Memory  uint64 `xml:"memory"`
	VCPU    uint16 `xml:"vcpu"`
	Bridge  struct {
		Name string `xml:"name,attr"`
	} `xml:"bridge"`
}

// New returns an empty Fake.
func New() *Fake { return &Fake{nextID: 1, sinks: map[int]func(server.Event){}} }

// AddDomains defines n domains called guest0000 and so on, with UUIDs that follow from the number.
func (f *Fake) AddDomains(n int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for i := range n {
		d := server.Domain{Name: fmt.Sprintf("guest%04d", i), ID: -1, State: server.DomainShutoff, Persistent: true}
		d.UUID = spec.UUID{0: 0xfa, 14: byte(i >> 8), 15: byte(i)}
		f.domains = append(f.domains, &domain{Domain: d, max: 1 << 20, mem: 1 << 20, cpu: 2, doc: "<domain type='qemu'>\n  <name>" + d.Name + "</name>\n</domain>\n"})
	}
	f.sort()
}

func (f *Fake) sort() {
	slices.SortFunc(f.domains, func(a, b *domain) int { return strings.Compare(a.Name, b.Name) })
	slices.SortFunc(f.networks, func(a, b *network) int { return strings.Compare(a.Name, b.Name) })
}

// Emit sends an event to everybody who subscribed.
func (f *Fake) Emit(e server.Event) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.emit(e)
}

func (f *Fake) emit(e server.Event) {
	for _, sink := range f.sinks {
		sink(e)
	}
}

// Subscribe implements server.Events.
func (f *Fake) Subscribe(sink func(server.Event)) (cancel func()) {
	f.mu.Lock()
	defer f.mu.Unlock()
	id := f.nextSink
	f.nextSink++
	f.sinks[id] = sink
	return func() {
		f.mu.Lock()
		defer f.mu.Unlock()
		delete(f.sinks, id)
	}
}

func (f *Fake) enter(call string) error {
	if f.Block == nil {
		return nil
	}
	return f.Block(call)
}

// change runs do on a domain, under the lock.
func (f *Fake) change(call string, uuid spec.UUID, do func(*domain) error) error {
	if err := f.enter(call); err != nil {
		return err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	d, err := f.find(uuid)
	if err != nil {
		return err
	}
	return do(d)
}

func (f *Fake) find(uuid spec.UUID) (*domain, error) {
	for _, d := range f.domains {
		if d.UUID == uuid {
			return d, nil
		}
	}
	return nil, virterr.DomainNotFound("uuid", uuid.String())
}

func (f *Fake) lookup(match func(*domain) bool, by, what string) (server.Domain, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, d := range f.domains {
		if match(d) {
			return d.Domain, nil
		}
	}
	return server.Domain{}, virterr.DomainNotFound(by, what)
}

// ListDomains implements server.Domains.
func (f *Fake) ListDomains(dst []server.Domain) []server.Domain {
	f.mu.Lock()
	defer f.mu.Unlock()
	dst = slices.Grow(dst, len(f.domains))
	for _, d := range f.domains {
		dst = append(dst, d.Domain)
	}
	return dst
}

// DomainByName implements server.Domains.
func (f *Fake) DomainByName(name string) (server.Domain, error) {
	return f.lookup(func(d *domain) bool { return d.Name == name }, "name", name)
}

// DomainByUUID implements server.Domains.
func (f *Fake) DomainByUUID(uuid spec.UUID) (server.Domain, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	d, err := f.find(uuid)
	if err != nil {
		return server.Domain{}, err
	}
	return d.Domain, nil
}

// DomainByID implements server.Domains.
func (f *Fake) DomainByID(id int32) (server.Domain, error) {
	return f.lookup(func(d *domain) bool { return id >= 0 && d.ID == id }, "id", fmt.Sprint(id))
}

// DomainInfo implements server.Domains.
func (f *Fake) DomainInfo(uuid spec.UUID) (server.DomainInfo, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	d, err := f.find(uuid)
	if err != nil {
		return server.DomainInfo{}, err
	}
	i := server.DomainInfo{State: d.State, MaxMemKiB: d.max, MemKiB: d.mem, VCPUs: d.cpu}
	if d.Active() {
		i.CPUTimeNS = 1500000000
	}
	return i, nil
}

// DomainVCPUs implements server.Domains.
func (f *Fake) DomainVCPUs(uuid spec.UUID, _ uint32) (int32, error) {
	i, err := f.DomainInfo(uuid)
	return int32(i.VCPUs), err
}

// DomainMessages implements server.Domains.
func (f *Fake) DomainMessages(uuid spec.UUID, _ uint32) ([]string, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	d, err := f.find(uuid)
	if err != nil || !strings.Contains(d.doc, "qemu:commandline") {
		return nil, err
	}
	return []string{"tainted: custom configuration parameters specified"}, nil
}

// parse reads a document of a kind.
func parse(kind, doc string) (document, spec.UUID, error) {
	var d document
	if err := xml.Unmarshal([]byte(doc), &d); err != nil {
		return d, spec.UUID{}, virterr.New(virterr.XMLDetail, "(%s_definition):1: %w", kind, err)
	}
	if d.XMLName.Local != kind || d.Name == "" {
		return d, spec.UUID{}, virterr.New(virterr.XMLError, "expected a <%s> with a name", kind)
	}
	uuid, err := spec.ParseUUID(d.UUID)
	if d.UUID == "" {
		return d, spec.NewUUID(), nil
	}
	return d, uuid, err
}

var errNotRunning = errors.New("domain is not running")

func running(d *domain) error {
	if !d.Active() {
		return virterr.New(virterr.OperationInvalid, "%w", errNotRunning)
	}
	return nil
}
