package disk

import (
	"context"
	"crypto/md5"
	"crypto/sha1"
	"crypto/sha256"
	"crypto/sha512"
	"fmt"
	"hash"
	"io"
	"path"
	"time"

	"taproom/internal/appliance/proto"
)

// Info is what Entry says of a file, and the rest of what lstat(2) does.
type Info struct {
	Entry
	Path                   string // from "/"
	Inode                  uint64
	Device                 uint64 // that it lies on
	Rdev                   uint64 // that it is, for a device node
	Links                  uint32 // names that it has
	Blocks                 int64  // that it takes, of 512 bytes
	BlockSize              uint32 // bytes
	AccessTime, ChangeTime time.Time
}

func info(at, target string, s proto.Stat) Info {
	return Info{
		Entry: Entry{
			Name: path.Base(at), Target: target, Mode: s.FileMode(), UID: s.UID, GID: s.GID, Size: s.Size, ModTime: time.Unix(0, s.ModifyNS),
		},
		Path: at, Inode: s.Inode, Device: s.Device, Rdev: s.Rdev, Links: s.Links, Blocks: s.Blocks, BlockSize: s.BlockSize,
		AccessTime: time.Unix(0, s.AccessNS), ChangeTime: time.Unix(0, s.ChangeNS),
	}
}

// Stat describes a file. Of a path's last name a symbolic link is followed, within the tree, where follow says so; of the others always.
func (a *Appliance) Stat(ctx context.Context, at string, follow bool) (Info, error) {
	s, err := a.a.Agent().Stat(ctx, proto.Path{Path: at, Follow: follow})
	if err != nil {
		return Info{}, err
	}
	i := info(path.Clean("/"+at), "", s)
	if i.Mode.Type() == linkType {
		i.Target, err = a.ReadLink(ctx, at)
	}
	return i, err
}

// ListInfo lists a folder, in no order.
func (a *Appliance) ListInfo(ctx context.Context, at string) ([]Info, error) {
	list, err := a.a.Agent().List(ctx, at)
	if err != nil {
		return nil, err
	}
	out := make([]Info, len(list))
	for i, e := range list {
		out[i] = info(path.Join("/", at, e.Name), e.Target, e.Stat)
	}
	return out, nil
}

// Read writes to w length bytes of a regular file from an offset on, or fewer where it ends before; up to its end where length is negative.
func (a *Appliance) Read(ctx context.Context, at string, offset, length int64, w io.Writer) error {
	return a.a.Agent().Read(ctx, proto.Read{Path: at, Offset: offset, Length: length}, w)
}

// ReadLink returns what a symbolic link says.
func (a *Appliance) ReadLink(ctx context.Context, at string) (string, error) {
	return a.a.Agent().Readlink(ctx, at)
}

// Xattrs are a file's extended attributes: access control lists (system.posix_acl_access), capabilities (security.capability) and what
// programs have given it.
func (a *Appliance) Xattrs(ctx context.Context, at string, follow bool) (map[string][]byte, error) {
	names, err := a.a.Agent().ListXattr(ctx, proto.Path{Path: at, Follow: follow})
	if err != nil {
		return nil, err
	}
	out := map[string][]byte{}
	for _, name := range names {
		if out[name], err = a.a.Agent().GetXattr(ctx, proto.Xattr{Path: at, Name: name, Follow: follow}); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// newHash returns what computes a hash.
func newHash(algorithm string) (hash.Hash, error) {
	switch algorithm {
	case "md5":
		return md5.New(), nil
	case "sha1":
		return sha1.New(), nil
	case "sha256":
		return sha256.New(), nil
	case "sha512":
		return sha512.New(), nil
	}
	return nil, fmt.Errorf("hash: %q is none of md5, sha1, sha256 and sha512", algorithm)
}

// Hash returns the hash of what a regular file holds: "md5", "sha1", "sha256" or "sha512". It is computed on the host.
func (a *Appliance) Hash(ctx context.Context, at, algorithm string) ([]byte, error) {
	h, err := newHash(algorithm)
	if err != nil {
		return nil, err
	}
	if err := a.CopyOut(ctx, at, h); err != nil {
		return nil, err
	}
	return h.Sum(nil), nil
}
