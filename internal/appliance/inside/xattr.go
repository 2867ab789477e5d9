package inside

import (
	"context"
	"strings"

	"golang.org/x/sys/unix"

	"taproom/internal/appliance/proto"
)

// maxXattr is Linux's own limit on an attribute's value, and on a file's list of names, in bytes.
const maxXattr = 64 << 10

// withXattr decodes a request about an attribute and does it.
func (t tree) withXattr(r *proto.Call, do func(path string, m proto.Xattr) error) error {
	var m proto.Xattr
	if err := r.Args(&m); err != nil {
		return err
	}
	return t.at(m.Path, m.Follow, func(path string) error { return do(path, m) })
}

func (t tree) getXattr(_ context.Context, r *proto.Call) (proto.Message, error) {
	b := make([]byte, maxXattr)
	err := t.withXattr(r, func(path string, m proto.Xattr) error {
		n, err := unix.Getxattr(path, m.Name, b)
		b = b[:max(n, 0)]
		return err
	})
	return &proto.Value{Value: b}, err
}

func (t tree) setXattr(_ context.Context, r *proto.Call) (proto.Message, error) {
	return nil, t.withXattr(r, func(path string, m proto.Xattr) error { return unix.Setxattr(path, m.Name, m.Value, 0) })
}

func (t tree) removeXattr(_ context.Context, r *proto.Call) (proto.Message, error) {
	return nil, t.withXattr(r, func(path string, m proto.Xattr) error { return unix.Removexattr(path, m.Name) })
}

func (t tree) listXattr(_ context.Context, r *proto.Call) (proto.Message, error) {
	var m proto.Path
	if err := r.Args(&m); err != nil {
		return nil, err
	}
	b := make([]byte, maxXattr)
	err := t.at(m.Path, m.Follow, func(path string) error {
		n, err := unix.Listxattr(path, b)
		b = b[:max(n, 0)]
		return err
	})
	if err != nil || len(b) == 0 {
		return &proto.Names{}, err
	}
	return &proto.Names{List: strings.Split(strings.TrimSuffix(string(b), "\x00"), "\x00")}, nil
}
