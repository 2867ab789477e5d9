package storage

import (
	"cmp"
	"log/slog"
	"path/filepath"
	"slices"
	"sync"

	"taproom/internal/api/server"
	"taproom/internal/api/virterr"
	"taproom/internal/engine/store"
	"taproom/internal/host"
	"taproom/internal/spec"
)

// Config is what Pools need.
type Config struct {
	Kernel       *host.Kernel
	Log          *slog.Logger
	Definitions  string // the folder of what is defined
	Active       string // the folder of what is active; it does not outlive a boot
	Publish      func(server.Event)
	Damaged      func([]*store.Damaged) // files that cannot be read are reported
	Problem      func(string)           // what an administrator has to know of
	DocumentFits func(xml []byte) error
}

// Pools are the storage pools of a host.
type Pools struct {
	cfg     Config
	k       *host.Kernel
	defs    *store.Store[head]
	actives *store.Store[head]

	change sync.Mutex // held by whoever changes a pool; what it waits for is a small file
	mu     sync.RWMutex
	pools  map[spec.UUID]*pool
}

var _ server.Storage = (*Pools)(nil)

// head is what is kept of a pool beside its document.
type head struct {
	Name      string    `json:"name"`
	UUID      spec.UUID `json:"uuid"`
	Autostart bool      `json:"autostart,omitempty"`
}

// pool is one pool. What it points to is never changed, only replaced.
type pool struct {
	head
	def  *spec.StoragePool // nil for a transient pool
	live *spec.StoragePool // nil when it is not active
	jobs int               // how many volumes are being made, read or written
	// stopping says that there shall be no more of them.
	stopping bool
}

func (p *pool) ref() server.Pool {
	return server.Pool{Name: p.Name, UUID: p.UUID, Active: p.live != nil, Persistent: p.def != nil, Autostart: p.Autostart}
}

// doc is what the pool is now, or what it is defined as.
func (p *pool) doc() *spec.StoragePool {
	if p.live != nil {
		return p.live
	}
	return p.def
}

// folder is where the volumes are.
func (p *pool) folder() string { return filepath.Clean(p.doc().Target.Path) }

// all are copies of all pools, ordered by name.
func (s *Pools) all() []pool {
	s.mu.RLock()
	defer s.mu.RUnlock()
	list := make([]pool, 0, len(s.pools))
	for _, p := range s.pools {
		list = append(list, *p)
	}
	slices.SortFunc(list, func(a, b pool) int { return cmp.Compare(a.Name, b.Name) })
	return list
}

// find returns a copy of the first pool that is meant.
func (s *Pools) find(is func(*pool) bool) (pool, bool) {
	for _, p := range s.all() {
		if is(&p) {
			return p, true
		}
	}
	return pool{}, false
}

func (s *Pools) byUUID(uuid spec.UUID) (pool, error) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	if p := s.pools[uuid]; p != nil {
		return *p, nil
	}
	return pool{}, notFound("uuid", uuid.String())
}

func (s *Pools) byName(name string) (pool, error) {
	if p, ok := s.find(func(p *pool) bool { return p.Name == name }); ok {
		return p, nil
	}
	return pool{}, notFound("name", name)
}

func notFound(by, what string) error {
	return virterr.New(virterr.NoStoragePool, "no storage pool with matching %s '%s'", by, what)
}

func invalid(format string, args ...any) error {
	return virterr.New(virterr.OperationInvalid, format, args...).In(virterr.FromStorage)
}

func failed(format string, args ...any) error {
	return virterr.New(virterr.OperationFailed, format, args...).In(virterr.FromStorage)
}

func system(format string, args ...any) error {
	return virterr.New(virterr.SystemError, format, args...).In(virterr.FromStorage)
}

// ListPools implements server.Storage.
func (s *Pools) ListPools(dst []server.Pool) []server.Pool {
	for _, p := range s.all() {
		dst = append(dst, p.ref())
	}
	return dst
}

// PoolByName implements server.Storage.
func (s *Pools) PoolByName(name string) (server.Pool, error) {
	p, err := s.byName(name)
	if err != nil {
		return server.Pool{}, err
	}
	return p.ref(), nil
}

// PoolByUUID implements server.Storage.
func (s *Pools) PoolByUUID(uuid spec.UUID) (server.Pool, error) {
	p, err := s.byUUID(uuid)
	if err != nil {
		return server.Pool{}, err
	}
	return p.ref(), nil
}

// PoolByTarget implements server.Storage.
func (s *Pools) PoolByTarget(path string) (server.Pool, error) {
	clean := filepath.Clean(path)
	p, ok := s.find(func(p *pool) bool { return p.live != nil && p.folder() == clean })
	if !ok {
		return server.Pool{}, notFound("target path", path)
	}
	return p.ref(), nil
}
