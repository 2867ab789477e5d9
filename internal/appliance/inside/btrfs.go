package inside

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"unsafe"

	"golang.org/x/sys/unix"

	"taproom/internal/appliance/proto"
)

// What linux/btrfs.h and btrfs_tree.h call these.
const (
	btrfsSearch     = 0xd0009411 // BTRFS_IOC_TREE_SEARCH: _IOWR(0x94, 17, 4096 bytes)
	btrfsLookup     = 0xd0009412 // BTRFS_IOC_INO_LOOKUP
	rootTree        = 1          // BTRFS_ROOT_TREE_OBJECTID
	topLevel        = 5          // BTRFS_FS_TREE_OBJECTID
	firstSubvolume  = 256        // BTRFS_FIRST_FREE_OBJECTID
	lastSubvolume   = -256       // BTRFS_LAST_FREE_OBJECTID
	rootBackRef     = 144        // BTRFS_ROOT_BACKREF_KEY
	btrfsArgs       = 4096
	searchHead      = 104 // of struct btrfs_ioctl_search_args
	searchItem      = 32  // struct btrfs_ioctl_search_header
	rootRefHead     = 18  // struct btrfs_root_ref
	mostSubvolumes  = 1000
	longestAncestry = 256
)

// ioctlBytes makes an ioctl that takes and fills so many bytes.
func ioctlBytes(fd int, request uintptr, b []byte) error {
	_, _, errno := unix.Syscall(unix.SYS_IOCTL, uintptr(fd), request, uintptr(unsafe.Pointer(&b[0])))
	if errno != 0 {
		return errno
	}
	return nil
}

// fitrim is FITRIM of linux/fs.h, of the whole file system: _IOWR('X', 121, struct fstrim_range).
func fitrim(fd int) (uint64, error) {
	const request = 0xc0185879
	b := make([]byte, 24) // start, length, least extent
	binary.LittleEndian.PutUint64(b[8:], math.MaxUint64)
	err := ioctlBytes(fd, request, b)
	return binary.LittleEndian.Uint64(b[8:]), err
}

// subvolumeRef is what btrfs says of a subvolume: where it lies.
type subvolumeRef struct {
	id, parent, folder uint64
	name               string
}

// subvolumes lists those of btrfs by their paths from its top level, at most 1,000.
func subvolumes(fd int) ([]proto.Subvolume, error) {
	refs, err := subvolumeRefs(fd)
	if err != nil {
		return nil, fmt.Errorf("look for its subvolumes: %w", err)
	}
	byID := map[uint64]subvolumeRef{}
	for _, r := range refs {
		byID[r.id] = r
	}
	var list []proto.Subvolume
	for _, r := range refs {
		if path, ok := subvolumePath(byID, r, func(r subvolumeRef) (string, error) { return folderPath(fd, r) }); ok {
			list = append(list, proto.Subvolume{ID: r.id, Path: path})
		}
	}
	slices.SortFunc(list, func(a, b proto.Subvolume) int { return strings.Compare(a.Path, b.Path) })
	return list, nil
}

// subvolumePath goes up from a subvolume to the top level. A circle, or one that has nothing above, has no path.
func subvolumePath(byID map[uint64]subvolumeRef, r subvolumeRef, folder func(subvolumeRef) (string, error)) (string, bool) {
	path := ""
	for range longestAncestry {
		above, err := folder(r)
		if err != nil {
			return "", false
		}
		path = above + r.name + "/" + path
		if r.parent == topLevel {
			return strings.TrimSuffix(path, "/"), true
		}
		next, ok := byID[r.parent]
		if !ok || len(path) > longest {
			return "", false
		}
		r = next
	}
	return "", false
}

// subvolumeRefs searches the tree of roots.
func subvolumeRefs(fd int) ([]subvolumeRef, error) {
	var refs []subvolumeRef
	from := uint64(firstSubvolume)
	for len(refs) < mostSubvolumes {
		b := make([]byte, btrfsArgs)
		var last int64 = lastSubvolume
		for i, v := range []uint64{rootTree, from, uint64(last), 0, math.MaxUint64, 0, math.MaxUint64} {
			binary.LittleEndian.PutUint64(b[8*i:], v)
		}
		binary.LittleEndian.PutUint32(b[56:], rootBackRef)
		binary.LittleEndian.PutUint32(b[60:], rootBackRef)
		binary.LittleEndian.PutUint32(b[64:], btrfsArgs) // as many items as there is room for
		if err := ioctlBytes(fd, btrfsSearch, b); err != nil {
			return nil, err
		}
		n := binary.LittleEndian.Uint32(b[64:])
		found, last2 := parseRefs(b[searchHead:], n)
		refs = append(refs, found...)
		if n == 0 || last2 < from || last2 == math.MaxUint64 {
			break
		}
		from = last2 + 1 // a subvolume lies in one place
	}
	return refs[:min(len(refs), mostSubvolumes)], nil
}

// parseRefs reads n items of a search, as far as they are there, and returns the last number that came by.
func parseRefs(b []byte, n uint32) (refs []subvolumeRef, last uint64) {
	for ; n > 0 && len(b) >= searchItem; n-- {
		id, offset := binary.LittleEndian.Uint64(b[8:]), binary.LittleEndian.Uint64(b[16:])
		kind, size := binary.LittleEndian.Uint32(b[24:]), binary.LittleEndian.Uint32(b[28:])
		b = b[searchItem:]
		if uint64(size) > uint64(len(b)) {
			break
		}
		item := b[:size]
		b = b[size:]
		last = max(last, id)
		if kind != rootBackRef || len(item) < rootRefHead {
			continue
		}
		name := item[rootRefHead:]
		if l := int(binary.LittleEndian.Uint16(item[16:])); l <= len(name) && l > 0 && !bytes.ContainsAny(name[:l], "/\x00") {
			refs = append(refs, subvolumeRef{id, offset, binary.LittleEndian.Uint64(item), string(name[:l])})
		}
	}
	return refs, last
}

// folderPath is the path of the folder that a subvolume lies in, in the subvolume above it: "" or one that ends in a slash.
func folderPath(fd int, r subvolumeRef) (string, error) {
	if r.folder == firstSubvolume { // the first folder of each tree
		return "", nil
	}
	b := make([]byte, btrfsArgs)
	binary.LittleEndian.PutUint64(b, r.parent)
	binary.LittleEndian.PutUint64(b[8:], r.folder)
	if err := ioctlBytes(fd, btrfsLookup, b); err != nil {
		return "", err
	}
	path, _, ended := bytes.Cut(b[16:], []byte{0})
	if !ended {
		return "", errors.New("a path without an end")
	}
	return string(path), nil
}
