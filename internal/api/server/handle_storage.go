package server

import (
	"taproom/internal/api/remote"
	"taproom/internal/api/xdr"
)

func bindStorage(p *program) {
	bindPoolLists(p)
	bindPoolReads(p)
	bindPoolJobs(p)
	bindVolumes(p)
	bindVolumeJobs(p)
}

// storageFlags are the flags of calls about storage; see knownFlags.
func storageFlags(procedure uint32) (mask uint32, limited bool) {
	switch procedure {
	case remote.ProcStoragePoolCreate, remote.ProcStoragePoolCreateXML:
		// A folder has nothing on it that could be overwritten.
		return PoolCreateBuild | PoolCreateBuildOverwrite | PoolCreateBuildNoOverwrite, true
	case remote.ProcStoragePoolBuild, remote.ProcStoragePoolDelete, remote.ProcStoragePoolRefresh, remote.ProcStoragePoolDefineXML,
		remote.ProcStorageVolDelete, remote.ProcStorageVolWipe, remote.ProcStorageVolGetXMLDesc,
		remote.ProcStorageVolUpload, remote.ProcStorageVolDownload:
		return 0, true
	case remote.ProcStorageVolCreateXML, remote.ProcStorageVolCreateXMLFrom:
		return VolumeCreatePreallocMetadata | VolumeCreateReflink | VolumeCreateValidate, true
	case remote.ProcStorageVolResize:
		return VolumeResizeAllocate | VolumeResizeDelta | VolumeResizeShrink, true
	case remote.ProcStorageVolGetInfoFlags:
		return VolumeInfoPhysical, true
	}
	return 0, false
}

func wirePool(p Pool) remote.Network { return remote.Network{Name: p.Name, UUID: p.UUID} }

func wireVolume(v Volume) remote.Volume { return remote.Volume(v) }

// keepPool says whether a list with these flags names p.
func keepPool(p *Pool, flags uint32) bool {
	return group{{ListPoolsActive, p.Active}, {ListPoolsInactive, !p.Active}}.keeps(flags) &&
		group{{ListPoolsPersistent, p.Persistent}, {ListPoolsTransient, !p.Persistent}}.keeps(flags) &&
		group{{ListPoolsAutostart, p.Autostart}, {ListPoolsNoAutostart, !p.Autostart}}.keeps(flags) &&
		group{{ListPoolsDir, true}, {ListPoolsOtherTypes, false}}.keeps(flags)
}

// pools are those that flags keep.
func pools(b Backend, flags uint32) []Pool {
	all := b.ListPools(nil)
	kept := all[:0]
	for i := range all {
		if keepPool(&all[i], flags) {
			kept = append(kept, all[i])
		}
	}
	return kept
}

func bindPoolLists(p *program) {
	bind(p, remote.ProcConnectListAllStoragePools, func(q *request, a *remote.NeedFlags, r *remote.Networks) error {
		list := pools(q.backend, a.Flags)
		r.N = uint32(len(list))
		for _, pool := range list {
			if a.Need != 0 {
				r.Networks = append(r.Networks, wirePool(pool))
			}
		}
		return nil
	})
	names := func(flags uint32) func(*request, *remote.Int, *remote.Strings) error {
		return func(q *request, a *remote.Int, r *remote.Strings) error {
			for _, pool := range pools(q.backend, flags) {
				if int32(len(r.S)) < a.N {
					r.S = append(r.S, pool.Name)
				}
			}
			return nil
		}
	}
	count := func(flags uint32) func(*request, *xdr.Void, *remote.Int) error {
		return func(q *request, _ *xdr.Void, r *remote.Int) error {
			r.N = int32(len(pools(q.backend, flags)))
			return nil
		}
	}
	bind(p, remote.ProcConnectListStoragePools, names(ListPoolsActive))
	bind(p, remote.ProcConnectNumOfStoragePools, count(ListPoolsActive))
	bind(p, remote.ProcConnectListDefinedStoragePools, names(ListPoolsInactive))
	bind(p, remote.ProcConnectNumOfDefinedStoragePools, count(ListPoolsInactive))
}

func bindPoolReads(p *program) {
	found := func(pool Pool, err error, r *remote.Network) error {
		*r = wirePool(pool)
		return err
	}
	bind(p, remote.ProcStoragePoolLookupByName, func(q *request, a *remote.String, r *remote.Network) error {
		pool, err := q.backend.PoolByName(a.S)
		return found(pool, err, r)
	})
	bind(p, remote.ProcStoragePoolLookupByUUID, func(q *request, a *remote.UUID, r *remote.Network) error {
		pool, err := q.backend.PoolByUUID(a.UUID)
		return found(pool, err, r)
	})
	bind(p, remote.ProcStoragePoolLookupByTargetPath, func(q *request, a *remote.String, r *remote.Network) error {
		pool, err := q.backend.PoolByTarget(a.S)
		return found(pool, err, r)
	})
	bind(p, remote.ProcStoragePoolLookupByVolume, func(q *request, a *remote.Volume, r *remote.Network) error {
		pool, err := q.backend.PoolByName(a.Pool)
		return found(pool, err, r)
	})
	ask := func(f func(*Pool) bool) func(*request, *remote.Network, *remote.Int) error {
		return func(q *request, a *remote.Network, r *remote.Int) error {
			pool, err := q.backend.PoolByUUID(a.UUID)
			r.N = flag(f(&pool))
			return err
		}
	}
	bind(p, remote.ProcStoragePoolGetAutostart, ask(func(p *Pool) bool { return p.Autostart }))
	bind(p, remote.ProcStoragePoolIsActive, ask(func(p *Pool) bool { return p.Active }))
	bind(p, remote.ProcStoragePoolIsPersistent, ask(func(p *Pool) bool { return p.Persistent }))
	bind(p, remote.ProcStoragePoolGetInfo, func(q *request, a *remote.Network, r *remote.PoolInfo) error {
		info, err := q.backend.PoolInfo(q.ctx, a.UUID)
		*r = remote.PoolInfo(info)
		return err
	})
	bind(p, remote.ProcStoragePoolGetXMLDesc, func(q *request, a *remote.NetworkFlags, r *remote.String) (err error) {
		r.S, err = q.backend.PoolXML(q.ctx, a.UUID, a.Flags)
		return err
	})
}

func bindPoolJobs(p *program) {
	const build = PoolCreateBuild | PoolCreateBuildOverwrite | PoolCreateBuildNoOverwrite
	bind(p, remote.ProcStoragePoolDefineXML, func(q *request, a *remote.StringFlags, r *remote.Network) error {
		pool, err := q.backend.DefinePool(q.ctx, a.S)
		*r = wirePool(pool)
		return err
	})
	bind(p, remote.ProcStoragePoolCreateXML, func(q *request, a *remote.StringFlags, r *remote.Network) error {
		pool, err := q.backend.CreatePool(q.ctx, a.S, a.Flags&build != 0)
		*r = wirePool(pool)
		return err
	})
	bind(p, remote.ProcStoragePoolCreate, func(q *request, a *remote.NetworkFlags, _ *xdr.Void) error {
		return q.backend.StartPool(q.ctx, a.UUID, a.Flags&build != 0)
	})
	bind(p, remote.ProcStoragePoolBuild, func(q *request, a *remote.NetworkFlags, _ *xdr.Void) error {
		return q.backend.BuildPool(q.ctx, a.UUID)
	})
	bind(p, remote.ProcStoragePoolDestroy, func(q *request, a *remote.Network, _ *xdr.Void) error {
		return q.backend.DestroyPool(q.ctx, a.UUID)
	})
	bind(p, remote.ProcStoragePoolDelete, func(q *request, a *remote.NetworkFlags, _ *xdr.Void) error {
		return q.backend.DeletePool(q.ctx, a.UUID)
	})
	bind(p, remote.ProcStoragePoolUndefine, func(q *request, a *remote.Network, _ *xdr.Void) error {
		return q.backend.UndefinePool(q.ctx, a.UUID)
	})
	bind(p, remote.ProcStoragePoolRefresh, func(q *request, a *remote.NetworkFlags, _ *xdr.Void) error {
		return q.backend.RefreshPool(q.ctx, a.UUID)
	})
	bind(p, remote.ProcStoragePoolSetAutostart, func(q *request, a *remote.NetworkInt, _ *xdr.Void) error {
		return q.backend.SetPoolAutostart(q.ctx, a.UUID, a.N != 0)
	})
}
