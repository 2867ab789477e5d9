package server

import (
	"taproom/internal/api/remote"
	"taproom/internal/api/xdr"
)

// PoolLifecycle is a change of a storage pool's life: Event is one of PoolEvent….
type PoolLifecycle struct {
	Pool  Pool
	Event int32
}

func (e PoolLifecycle) forms() []form {
	return []form{{
		source: fromPools, kind: PoolKindLifecycle, uuid: e.Pool.UUID, procedure: remote.ProcStoragePoolEventLifecycle,
		payload: func(callback int32, _ bool) xdr.Value {
			return &remote.NetworkEvent{Callback: callback, Network: wirePool(e.Pool), Event: e.Event}
		},
	}}
}

// PoolRefresh is a pool whose volumes may be others.
type PoolRefresh struct{ Pool Pool }

func (e PoolRefresh) forms() []form {
	return []form{{
		source: fromPools, kind: PoolKindRefresh, uuid: e.Pool.UUID, procedure: remote.ProcStoragePoolEventRefresh,
		payload: func(callback int32, _ bool) xdr.Value {
			return &remote.PoolRefresh{Callback: callback, Pool: wirePool(e.Pool)}
		},
	}}
}
