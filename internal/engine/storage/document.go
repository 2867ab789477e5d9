package storage

import (
	"context"
	"errors"
	"fmt"

	"golang.org/x/sys/unix"

	"taproom/internal/api/server"
	"taproom/internal/api/virterr"
	"taproom/internal/spec"
)

// read reads a pool's document.
func (s *Pools) read(xml string) (*spec.StoragePool, error) {
	doc, err := spec.ParseStoragePool([]byte(xml))
	if err != nil {
		return nil, documentError(err)
	}
	if err := s.cfg.DocumentFits([]byte(xml)); err != nil {
		return nil, err
	}
	if err := doc.Validate(); err != nil {
		return nil, documentError(fmt.Errorf("storage pool '%s': %w", doc.Name, err))
	}
	doc.Capacity, doc.Allocation, doc.Available = nil, nil, nil
	return doc, nil
}

// documentError gives what spec says about a document libvirt's number for it.
func documentError(err error) error {
	var unsupported *spec.UnsupportedError
	var syntax *spec.SyntaxError
	switch {
	case errors.As(err, &unsupported):
		return virterr.New(virterr.ConfigUnsupported, "%w", err).In(virterr.FromStorage)
	case errors.As(err, &syntax):
		return virterr.New(virterr.XMLDetail, "%w", err).In(virterr.FromStorage)
	}
	return virterr.New(virterr.XMLError, "%w", err).In(virterr.FromStorage)
}

// PoolInfo implements server.Storage.
func (s *Pools) PoolInfo(_ context.Context, uuid spec.UUID) (server.PoolInfo, error) {
	p, err := s.byUUID(uuid)
	if err != nil || p.live == nil {
		return server.PoolInfo{State: server.PoolInactive}, err
	}
	use, err := s.k.FilesystemUse(p.folder())
	if err != nil { // somebody removed the folder, or a mount is gone
		return server.PoolInfo{State: server.PoolInaccessible}, nil
	}
	return server.PoolInfo{State: server.PoolRunning, Capacity: use.Capacity, Allocation: use.Capacity - use.Available, Available: use.Available}, nil
}

// PoolXML implements server.Storage.
func (s *Pools) PoolXML(ctx context.Context, uuid spec.UUID, flags uint32) (string, error) {
	p, err := s.byUUID(uuid)
	if err != nil {
		return "", err
	}
	doc, live := p.doc(), p.live != nil
	if flags&server.PoolXMLInactive != 0 && p.def != nil {
		doc, live = p.def, false
	}
	out, target := *doc, *doc.Target
	out.Target = &target
	info := server.PoolInfo{}
	if live {
		if info, err = s.PoolInfo(ctx, uuid); err != nil {
			return "", err
		}
		if st, err := s.k.FileFacts(p.folder()); err == nil {
			target.Permissions = permissions(st)
		}
	}
	out.Capacity, out.Allocation, out.Available = spec.Bytes(info.Capacity), spec.Bytes(info.Allocation), spec.Bytes(info.Available)
	return string(out.Format()), nil
}

// permissions are those that a file has.
func permissions(st unix.Stat_t) *spec.Permissions {
	return &spec.Permissions{Mode: fmt.Sprintf("%04o", st.Mode&0o7777), Owner: fmt.Sprint(st.Uid), Group: fmt.Sprint(st.Gid)}
}
