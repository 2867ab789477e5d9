package servertest

import (
	"context"
	"io"

	"taproom/internal/api/server"
	"taproom/internal/api/virterr"
	"taproom/internal/spec"
)

// noStorage is a server.Storage without a pool. What is served of storage is tested with the daemon's own.
type noStorage struct{}

func noPool(by, what string) error {
	return virterr.New(virterr.NoStoragePool, "no storage pool with matching %s '%s'", by, what)
}

func noPoolWith(uuid spec.UUID) error { return noPool("uuid", uuid.String()) }

// ListPools implements server.Storage.
func (noStorage) ListPools(dst []server.Pool) []server.Pool { return dst }

// PoolByName implements server.Storage.
func (noStorage) PoolByName(name string) (server.Pool, error) {
	return server.Pool{}, noPool("name", name)
}

// PoolByUUID implements server.Storage.
func (noStorage) PoolByUUID(u spec.UUID) (server.Pool, error) { return server.Pool{}, noPoolWith(u) }

// PoolByTarget implements server.Storage.
func (noStorage) PoolByTarget(path string) (server.Pool, error) {
	return server.Pool{}, noPool("target path", path)
}

// PoolInfo implements server.Storage.
func (noStorage) PoolInfo(_ context.Context, u spec.UUID) (server.PoolInfo, error) {
	return server.PoolInfo{}, noPoolWith(u)
}

// PoolXML implements server.Storage.
func (noStorage) PoolXML(_ context.Context, u spec.UUID, _ uint32) (string, error) {
	return "", noPoolWith(u)
}

// DefinePool implements server.Storage.
func (noStorage) DefinePool(context.Context, string) (server.Pool, error) {
	return server.Pool{}, virterr.Unsupported("virStoragePoolDefineXML")
}

// CreatePool implements server.Storage.
func (noStorage) CreatePool(context.Context, string, bool) (server.Pool, error) {
	return server.Pool{}, virterr.Unsupported("virStoragePoolCreateXML")
}

// StartPool implements server.Storage.
func (noStorage) StartPool(_ context.Context, u spec.UUID, _ bool) error { return noPoolWith(u) }

// BuildPool implements server.Storage.
func (noStorage) BuildPool(_ context.Context, u spec.UUID) error { return noPoolWith(u) }

// DestroyPool implements server.Storage.
func (noStorage) DestroyPool(_ context.Context, u spec.UUID) error { return noPoolWith(u) }

// DeletePool implements server.Storage.
func (noStorage) DeletePool(_ context.Context, u spec.UUID) error { return noPoolWith(u) }

// UndefinePool implements server.Storage.
func (noStorage) UndefinePool(_ context.Context, u spec.UUID) error { return noPoolWith(u) }

// RefreshPool implements server.Storage.
func (noStorage) RefreshPool(_ context.Context, u spec.UUID) error { return noPoolWith(u) }

// SetPoolAutostart implements server.Storage.
func (noStorage) SetPoolAutostart(_ context.Context, u spec.UUID, _ bool) error { return noPoolWith(u) }

// Volumes implements server.Storage.
func (noStorage) Volumes(_ context.Context, u spec.UUID) ([]server.Volume, error) {
	return nil, noPoolWith(u)
}

// Volume implements server.Storage.
func (noStorage) Volume(_ context.Context, pool, _ string) (server.Volume, error) {
	return server.Volume{}, noPool("name", pool)
}

// VolumeByPath implements server.Storage.
func (noStorage) VolumeByPath(_ context.Context, path string) (server.Volume, error) {
	return server.Volume{}, virterr.New(virterr.NoStorageVol, "no storage vol with matching path '%s'", path)
}

// VolumeInfo implements server.Storage.
func (noStorage) VolumeInfo(_ context.Context, pool, _ string) (server.VolumeInfo, error) {
	return server.VolumeInfo{}, noPool("name", pool)
}

// VolumeXML implements server.Storage.
func (noStorage) VolumeXML(_ context.Context, pool, _ string) (string, error) {
	return "", noPool("name", pool)
}

// CreateVolume implements server.Storage.
func (noStorage) CreateVolume(_ context.Context, u spec.UUID, _ string, _ *server.Volume, _ uint32) (server.Volume, error) {
	return server.Volume{}, noPoolWith(u)
}

// DeleteVolume implements server.Storage.
func (noStorage) DeleteVolume(_ context.Context, pool, _ string) error { return noPool("name", pool) }

// WipeVolume implements server.Storage.
func (noStorage) WipeVolume(_ context.Context, pool, _ string) error { return noPool("name", pool) }

// ResizeVolume implements server.Storage.
func (noStorage) ResizeVolume(_ context.Context, pool, _ string, _ uint64, _ uint32) error {
	return noPool("name", pool)
}

// OpenVolume implements server.Storage.
func (noStorage) OpenVolume(_ context.Context, pool, _ string, _, _ uint64, _ bool) (io.ReadWriteCloser, error) {
	return nil, noPool("name", pool)
}
