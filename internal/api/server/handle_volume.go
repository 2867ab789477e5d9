package server

import (
	"taproom/internal/api/remote"
	"taproom/internal/api/xdr"
)

func bindVolumes(p *program) {
	bind(p, remote.ProcStoragePoolListAllVolumes, func(q *request, a *remote.NetworkNeedFlags, r *remote.Volumes) error {
		list, err := q.backend.Volumes(q.ctx, a.UUID)
		r.N = uint32(len(list))
		for _, v := range list {
			if a.Need != 0 {
				r.Volumes = append(r.Volumes, wireVolume(v))
			}
		}
		return err
	})
	bind(p, remote.ProcStoragePoolNumOfVolumes, func(q *request, a *remote.Network, r *remote.Int) error {
		list, err := q.backend.Volumes(q.ctx, a.UUID)
		r.N = int32(len(list))
		return err
	})
	bind(p, remote.ProcStoragePoolListVolumes, func(q *request, a *remote.NetworkInt, r *remote.Strings) error {
		list, err := q.backend.Volumes(q.ctx, a.UUID)
		for _, v := range list {
			if int32(len(r.S)) < a.N {
				r.S = append(r.S, v.Name)
			}
		}
		return err
	})
	bind(p, remote.ProcStorageVolLookupByName, func(q *request, a *remote.NetworkString, r *remote.Volume) error {
		v, err := q.backend.Volume(q.ctx, a.Name, a.S)
		*r = wireVolume(v)
		return err
	})
	byPath := func(q *request, a *remote.String, r *remote.Volume) error {
		v, err := q.backend.VolumeByPath(q.ctx, a.S)
		*r = wireVolume(v)
		return err
	}
	bind(p, remote.ProcStorageVolLookupByKey, byPath) // a volume's key is its path
	bind(p, remote.ProcStorageVolLookupByPath, byPath)
	info := func(q *request, v remote.Volume, flags uint32, r *remote.VolumeInfo) error {
		i, err := q.backend.VolumeInfo(q.ctx, v.Pool, v.Name)
		*r = remote.VolumeInfo{Type: VolumeTypeFile, Capacity: i.Capacity, Allocation: i.Allocation}
		if i.Dir {
			r.Type = VolumeTypeDir
		}
		if flags&VolumeInfoPhysical != 0 {
			r.Allocation = i.Physical
		}
		return err
	}
	bind(p, remote.ProcStorageVolGetInfo, func(q *request, a *remote.Volume, r *remote.VolumeInfo) error { return info(q, *a, 0, r) })
	bind(p, remote.ProcStorageVolGetInfoFlags, func(q *request, a *remote.VolumeFlags, r *remote.VolumeInfo) error {
		return info(q, a.Volume, a.Flags, r)
	})
	bind(p, remote.ProcStorageVolGetXMLDesc, func(q *request, a *remote.VolumeFlags, r *remote.String) (err error) {
		r.S, err = q.backend.VolumeXML(q.ctx, a.Pool, a.Name)
		return err
	})
	bind(p, remote.ProcStorageVolGetPath, func(q *request, a *remote.Volume, r *remote.String) error {
		v, err := q.backend.Volume(q.ctx, a.Pool, a.Name)
		r.S = v.Key
		return err
	})
}

func bindVolumeJobs(p *program) {
	bind(p, remote.ProcStorageVolCreateXML, func(q *request, a *remote.PoolStringFlags, r *remote.Volume) error {
		v, err := q.backend.CreateVolume(q.ctx, a.UUID, a.S, nil, a.Flags)
		*r = wireVolume(v)
		return err
	})
	bind(p, remote.ProcStorageVolCreateXMLFrom, func(q *request, a *remote.VolumeFrom, r *remote.Volume) error {
		from := Volume(a.From)
		v, err := q.backend.CreateVolume(q.ctx, a.UUID, a.S, &from, a.Flags)
		*r = wireVolume(v)
		return err
	})
	bind(p, remote.ProcStorageVolDelete, func(q *request, a *remote.VolumeFlags, _ *xdr.Void) error {
		return q.backend.DeleteVolume(q.ctx, a.Pool, a.Name)
	})
	bind(p, remote.ProcStorageVolWipe, func(q *request, a *remote.VolumeFlags, _ *xdr.Void) error {
		return q.backend.WipeVolume(q.ctx, a.Pool, a.Name)
	})
	bind(p, remote.ProcStorageVolResize, func(q *request, a *remote.VolumeUint64Flags, _ *xdr.Void) error {
		return q.backend.ResizeVolume(q.ctx, a.Pool, a.Name, a.N, a.Flags)
	})
	bind(p, remote.ProcStorageVolUpload, func(q *request, a *remote.VolumeSpan, _ *xdr.Void) error {
		w, err := q.backend.OpenVolume(q.ctx, a.Pool, a.Name, a.Offset, a.Length, true)
		if err != nil {
			return err
		}
		return q.conn.openUpload(q, w)
	})
	bind(p, remote.ProcStorageVolDownload, func(q *request, a *remote.VolumeSpan, _ *xdr.Void) error {
		r, err := q.backend.OpenVolume(q.ctx, a.Pool, a.Name, a.Offset, a.Length, false)
		if err != nil {
			return err
		}
		return q.conn.openDownload(q, r)
	})
}
