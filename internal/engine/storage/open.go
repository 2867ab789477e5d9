package storage

import (
	"context"
	"fmt"

	"taproom/internal/engine/store"
	"taproom/internal/spec"
)

// Open reads what is defined and what was active when an earlier daemon ended. A pool whose folder is gone is not active any
// more; what was being made in a folder goes.
func Open(c Config) (*Pools, error) {
	s := &Pools{cfg: c, k: c.Kernel, pools: map[spec.UUID]*pool{}}
	var err error
	if s.defs, err = store.Open[head](c.Kernel, c.Definitions, true); err != nil {
		return nil, err
	}
	if s.actives, err = store.Open[head](c.Kernel, c.Active, false); err != nil {
		return nil, err
	}
	if err := s.load(s.defs, func(p *pool, doc *spec.StoragePool) { p.def = doc }); err != nil {
		return nil, err
	}
	if err := s.load(s.actives, func(p *pool, doc *spec.StoragePool) { p.live = doc }); err != nil {
		return nil, err
	}
	for _, p := range s.all() {
		if p.live == nil {
			continue
		}
		if _, err := s.k.SweepTemp(p.folder()); err == nil {
			if _, err = s.k.FilesystemUse(p.folder()); err == nil {
				continue
			}
		}
		c.Log.Warn("a storage pool's folder is gone; it is not active any more", "pool", p.Name, "folder", p.folder())
		if err := s.actives.Delete(p.UUID.String()); err != nil {
			return nil, err
		}
		p.live = nil
		s.put(&p)
	}
	return s, nil
}

// load adds what a store has to the pools.
func (s *Pools) load(from *store.Store[head], set func(*pool, *spec.StoragePool)) error {
	items, damaged, err := from.Load()
	if err != nil {
		return err
	}
	s.cfg.Damaged(damaged)
	for _, i := range items {
		doc, err := spec.ParseStoragePool(i.Doc)
		if err == nil {
			err = doc.Validate()
		}
		other, twice := s.find(func(p *pool) bool { return p.Name == i.Head.Name && p.UUID != i.Head.UUID })
		switch {
		case err != nil:
			s.cfg.Problem(fmt.Sprintf("state file %s of storage pool '%s' cannot be used: %v; it is left alone", from.Path(i.Key), i.Head.Name, err))
			continue
		case i.Key != i.Head.UUID.String():
			s.cfg.Problem(fmt.Sprintf("state file %s holds storage pool '%s' with the UUID %s, which is not what it is called; it is left alone", from.Path(i.Key), i.Head.Name, i.Head.UUID))
			continue
		case twice:
			s.cfg.Problem(fmt.Sprintf("storage pool '%s' is there twice, with the UUIDs %s and %s; the second is left alone", i.Head.Name, other.UUID, i.Head.UUID))
			continue
		}
		p, err := s.byUUID(i.Head.UUID)
		if err != nil {
			p = pool{head: i.Head}
		}
		set(&p, doc)
		s.put(&p)
	}
	return nil
}

// Autostart starts the pools that start by themselves. One that cannot be started is a problem, and none of the others'.
func (s *Pools) Autostart(ctx context.Context) {
	for _, p := range s.all() {
		if p.Autostart && p.live == nil {
			if err := s.StartPool(ctx, p.UUID, false); err != nil {
				s.cfg.Problem("autostart: " + err.Error())
			}
		}
	}
}
