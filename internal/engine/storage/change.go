package storage

import (
	"context"
	"errors"
	"io/fs"
	"path/filepath"
	"strconv"
	"strings"

	"taproom/internal/api/server"
	"taproom/internal/api/virterr"
	"taproom/internal/engine/store"
	"taproom/internal/spec"
)

// DefinePool implements server.Storage.
func (s *Pools) DefinePool(_ context.Context, xml string) (server.Pool, error) {
	doc, err := s.read(xml)
	if err != nil {
		return server.Pool{}, err
	}
	s.change.Lock()
	defer s.change.Unlock()
	p, err := s.claim(doc)
	if err != nil {
		return server.Pool{}, err
	}
	p.def = doc
	if err := s.keepDefinition(&p); err != nil {
		return server.Pool{}, err
	}
	s.put(&p)
	s.tell(&p, server.PoolEventDefined)
	return p.ref(), nil
}

// CreatePool implements server.Storage.
func (s *Pools) CreatePool(_ context.Context, xml string, build bool) (server.Pool, error) {
	doc, err := s.read(xml)
	if err != nil {
		return server.Pool{}, err
	}
	s.change.Lock()
	defer s.change.Unlock()
	p, err := s.claim(doc)
	switch {
	case err != nil:
		return server.Pool{}, err
	case p.def != nil || p.live != nil:
		return server.Pool{}, failed("pool '%s' already exists with uuid %s", p.Name, p.UUID)
	}
	if err := s.start(&p, doc, build); err != nil {
		return server.Pool{}, err
	}
	return p.ref(), nil
}

// claim finds the pool a document is about, or makes a new one, and gives the document its UUID. No other pool may have the
// same folder.
func (s *Pools) claim(doc *spec.StoragePool) (pool, error) {
	folder := filepath.Clean(doc.Target.Path)
	for _, p := range s.all() {
		switch same := doc.UUID != nil && *doc.UUID == p.UUID; {
		case same && p.Name != doc.Name:
			return pool{}, failed("pool is already defined as '%s' with uuid %s", p.Name, p.UUID)
		case !same && p.Name == doc.Name && doc.UUID != nil:
			return pool{}, failed("pool '%s' already exists with uuid %s", p.Name, p.UUID)
		case p.Name == doc.Name:
			doc.UUID = &p.UUID
			return p, nil
		case p.folder() == folder:
			return pool{}, failed("Storage source conflict with pool: '%s', which has the folder %s", p.Name, folder)
		}
	}
	if doc.UUID == nil {
		u := spec.NewUUID()
		doc.UUID = &u
	}
	return pool{head: head{Name: doc.Name, UUID: *doc.UUID}}, nil
}

func (s *Pools) keepDefinition(p *pool) error {
	err := s.defs.Put(store.Item[head]{Key: p.UUID.String(), Head: p.head, Doc: p.def.Format()})
	if err != nil {
		return system("cannot save the definition of storage pool '%s': %w", p.Name, err)
	}
	return nil
}

// put keeps a pool; how many jobs it has is known best by the one it replaces.
func (s *Pools) put(p *pool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if old := s.pools[p.UUID]; old != nil {
		p.jobs = old.jobs
	}
	if p.def == nil && p.live == nil {
		delete(s.pools, p.UUID)
		return
	}
	s.pools[p.UUID] = p
}

func (s *Pools) tell(p *pool, event int32) {
	s.cfg.Publish(server.PoolLifecycle{Pool: p.ref(), Event: event})
}

// StartPool implements server.Storage.
func (s *Pools) StartPool(_ context.Context, uuid spec.UUID, build bool) error {
	s.change.Lock()
	defer s.change.Unlock()
	p, err := s.byUUID(uuid)
	if err != nil {
		return err
	}
	if p.live != nil {
		return invalid("storage pool '%s' is already active", p.Name)
	}
	return s.start(&p, p.def, build)
}

// start makes a pool active. Nobody writes to its folder yet, so what a crash left there goes.
func (s *Pools) start(p *pool, doc *spec.StoragePool, build bool) error {
	folder := filepath.Clean(doc.Target.Path)
	if build {
		if err := s.build(doc); err != nil {
			return err
		}
	}
	if _, err := s.k.FilesystemUse(folder); err != nil {
		return system("cannot open the folder of storage pool '%s': %w; make it, or let it be made (virsh pool-build)", p.Name, err)
	}
	if _, err := s.k.SweepTemp(folder); err != nil {
		return system("cannot read the folder of storage pool '%s': %w", p.Name, err)
	}
	if err := s.actives.Put(store.Item[head]{Key: p.UUID.String(), Head: p.head, Doc: doc.Format()}); err != nil {
		return system("cannot note that storage pool '%s' is active: %w", p.Name, err)
	}
	p.live = doc
	s.put(p)
	s.tell(p, server.PoolEventStarted)
	return nil
}

// BuildPool implements server.Storage.
func (s *Pools) BuildPool(_ context.Context, uuid spec.UUID) error {
	s.change.Lock()
	defer s.change.Unlock()
	p, err := s.byUUID(uuid)
	if err != nil {
		return err
	}
	if p.live != nil {
		return invalid("storage pool '%s' is already active", p.Name)
	}
	if err := s.build(p.def); err != nil {
		return err
	}
	s.tell(&p, server.PoolEventCreated)
	return nil
}

// build makes the folder as the document wants it.
func (s *Pools) build(doc *spec.StoragePool) error {
	folder := filepath.Clean(doc.Target.Path)
	mode, owner, group := wanted(doc.Target.Permissions, 0o711)
	_, err := s.k.FileFacts(folder)
	made := errors.Is(err, fs.ErrNotExist)
	if err := s.k.Mkdir(folder, mode); err != nil {
		return system("cannot make the folder of storage pool '%s': %w", doc.Name, err)
	}
	if p := doc.Target.Permissions; !made && p != nil && p.Mode != "" {
		if err := s.k.Chmod(folder, mode); err != nil {
			return system("cannot set the mode of the folder of storage pool '%s': %w", doc.Name, err)
		}
	}
	if owner < 0 && group < 0 {
		return nil
	}
	if err := s.k.Chown(folder, owner, group); err != nil {
		return system("cannot set the owner of the folder of storage pool '%s': %w", doc.Name, err)
	}
	return nil
}

// wanted is what a document asks for; an owner or group of -1 is whoever makes it.
func wanted(p *spec.Permissions, usual fs.FileMode) (mode fs.FileMode, owner, group int) {
	if p == nil {
		return usual, -1, -1
	}
	number := func(s string, base int) int {
		n, err := strconv.ParseInt(strings.TrimSpace(s), base, 64)
		if err != nil { // Validate has refused what is no number: it is absent
			return -1
		}
		return int(n)
	}
	mode = usual
	if n := number(p.Mode, 8); n >= 0 {
		mode = fs.FileMode(n & 0o777)
	}
	return mode, number(p.Owner, 10), number(p.Group, 10)
}

// DestroyPool implements server.Storage.
func (s *Pools) DestroyPool(_ context.Context, uuid spec.UUID) error {
	s.change.Lock()
	defer s.change.Unlock()
	p, err := s.byUUID(uuid)
	switch {
	case err != nil:
		return err
	case p.live == nil:
		return invalid("storage pool '%s' is not active", p.Name)
	case !s.idle(uuid, true):
		return virterr.New(virterr.InternalError, "pool '%s' has asynchronous jobs running.", p.Name).In(virterr.FromStorage)
	}
	if err := s.actives.Delete(uuid.String()); err != nil {
		s.idle(uuid, false)
		return system("cannot note that storage pool '%s' is not active: %w", p.Name, err)
	}
	p.live, p.stopping = nil, false
	s.put(&p)
	s.tell(&p, server.PoolEventStopped)
	return nil
}

// stopped finds a pool that has to be inactive.
func (s *Pools) stopped(uuid spec.UUID) (pool, error) {
	p, err := s.byUUID(uuid)
	if err == nil && p.live != nil {
		err = invalid("storage pool '%s' is still active", p.Name)
	}
	return p, err
}

// DeletePool implements server.Storage.
func (s *Pools) DeletePool(_ context.Context, uuid spec.UUID) error {
	s.change.Lock()
	defer s.change.Unlock()
	p, err := s.stopped(uuid)
	if err != nil {
		return err
	}
	if err := s.k.Remove(p.folder()); err != nil { // of a folder with something in it as well
		return system("failed to remove pool '%s': %w", p.Name, err)
	}
	s.tell(&p, server.PoolEventDeleted)
	return nil
}

// UndefinePool implements server.Storage.
func (s *Pools) UndefinePool(_ context.Context, uuid spec.UUID) error {
	s.change.Lock()
	defer s.change.Unlock()
	p, err := s.stopped(uuid)
	if err != nil {
		return err
	}
	if err := s.defs.Delete(uuid.String()); err != nil {
		return system("cannot remove the definition of storage pool '%s': %w", p.Name, err)
	}
	p.def = nil
	s.put(&p)
	s.tell(&p, server.PoolEventUndefined)
	return nil
}

// SetPoolAutostart implements server.Storage.
func (s *Pools) SetPoolAutostart(_ context.Context, uuid spec.UUID, on bool) error {
	s.change.Lock()
	defer s.change.Unlock()
	p, err := s.byUUID(uuid)
	switch {
	case err != nil:
		return err
	case p.def == nil:
		return invalid("pool has no config file: storage pool '%s' is transient", p.Name)
	}
	p.Autostart = on
	if err := s.keepDefinition(&p); err != nil {
		return err
	}
	s.put(&p)
	return nil
}

// RefreshPool implements server.Storage. There is nothing to refresh, but a folder that is gone is noticed.
func (s *Pools) RefreshPool(_ context.Context, uuid spec.UUID) error {
	p, err := s.active(uuid)
	if err != nil {
		return err
	}
	if _, err := s.k.FilesystemUse(p.folder()); err != nil {
		return system("cannot open the folder of storage pool '%s': %w", p.Name, err)
	}
	s.cfg.Publish(server.PoolRefresh{Pool: p.ref()})
	return nil
}

// active finds a pool that is active.
func (s *Pools) active(uuid spec.UUID) (pool, error) {
	p, err := s.byUUID(uuid)
	if err == nil && p.live == nil {
		return p, invalid("storage pool '%s' is not active", p.Name)
	}
	return p, err
}
