package guest

import (
	"strconv"

	"taproom/internal/qemu"
	"taproom/internal/spec"
)

// image is one layer of a disk.
type image struct {
	kind, path, format string
	readOnly           bool
	backed             bool             // the document declares what is below
	source             *spec.DiskSource // of an image that a server has
}

// chain makes the block nodes of a disk, the lowest layer first, and returns the name of the top one; empty for a drive
// without a medium, or whose tray is open. A layer's backing is what the document declares or null: QEMU never follows
// what an image names.
func (c *compiler) chain(k *spec.Disk) (string, error) {
	layers, err := layersOf(k)
	if err != nil || len(layers) == 0 {
		return "", err
	}
	cache, err := cacheProps(k)
	if err != nil {
		return "", err
	}
	below := ""
	for i := len(layers) - 1; i >= 0; i-- {
		name := k.Target.Dev
		if i > 0 {
			name += "-" + strconv.Itoa(i)
		}
		if layers[i].kind == "network" {
			if err := c.storageOnNetwork(k, layers[i], name, cache); err != nil {
				return "", err
			}
		} else {
			c.storage(k, layers[i], name, cache)
		}
		c.format(k, layers[i], name, below, cache, i == 0)
		below = name + "-format"
	}
	if k.Driver.CopyOnRead == "on" {
		c.cfg.Blockdevs = append(c.cfg.Blockdevs, qemu.Props{
			{Key: "driver", Value: "copy-on-read"}, {Key: "node-name", Value: k.Target.Dev + "-cor"}, {Key: "file", Value: below},
		})
		below = k.Target.Dev + "-cor"
	}
	return below, nil
}

func layersOf(k *spec.Disk) ([]image, error) {
	if !hasMedium(k) || k.Target.Tray == "open" {
		return nil, nil
	}
	path := sourcePath(k.Type, k.Source)
	readOnly := k.ReadOnly != nil || k.Device == "cdrom"
	layers := []image{{kind: k.Type, path: path, format: k.Driver.Type, readOnly: readOnly, source: k.Source}}
	for b := k.BackingStore; b != nil && b.Type != ""; b = b.BackingStore {
		path := sourcePath(b.Type, b.Source)
		if path == "" || b.Format == nil || b.Format.Type == "" {
			return nil, invalid("disk/backingStore", "%s: a backing image needs a source and a format", diskName(k))
		}
		layers[len(layers)-1].backed = true
		layers = append(layers, image{kind: b.Type, path: path, format: b.Format.Type, readOnly: true})
	}
	for i, l := range layers {
		switch {
		case l.kind != "file" && l.kind != "block" && (l.kind != "network" || i > 0):
			return nil, unsupported("disk", "%s: type=%q is not implemented; use file or block", diskName(k), l.kind)
		case l.format != "raw" && l.format != "qcow2":
			return nil, unsupported("disk/driver", "%s: format %q is not implemented; use raw or qcow2", diskName(k), l.format)
		case l.format == "raw" && i < len(layers)-1:
			return nil, invalid("disk/backingStore", "%s: a raw image has no backing image", diskName(k))
		}
	}
	return layers, nil
}

// storage is the node that reads and writes the file, given as a set of descriptors. A writable image comes with a
// read-only descriptor too: QEMU reopens it that way when it becomes a backing image.
func (c *compiler) storage(k *spec.Disk, l image, name string, cache qemu.Props) {
	base := Need{Path: l.path, Device: diskName(k), Image: true, Block: l.kind == "block", Format: l.format, Backing: l.backed}
	base.Direct = isDirect(k)
	ro, rw := base, base
	ro.Access, rw.Access = ReadOnly, ReadWrite
	needs := []Need{ro, rw}
	if l.readOnly {
		needs = needs[:1]
	}
	p := qemu.Props{
		{Key: "driver", Value: map[bool]string{true: "host_device", false: "file"}[l.kind == "block"]},
		{Key: "filename", Value: c.fdset(needs...)},
	}
	if k.Driver.IO != "" {
		p = p.With("aio", k.Driver.IO)
	}
	p = append(p.With("node-name", name+"-storage"), cache...)
	// Opened for writing from the start. With auto-read-only QEMU would switch from one descriptor to the other, and its
	// locks on the first one, which the set keeps open, would then stand in its own way (QEMU 7.2: "Failed to get write
	// lock" from usb-storage and copy-on-read).
	p = p.With("read-only", l.readOnly).With("auto-read-only", false)
	c.cfg.Blockdevs = append(c.cfg.Blockdevs, p.With("discard", "unmap"))
}

// format is the node that understands the image.
func (c *compiler) format(k *spec.Disk, l image, name, below string, cache qemu.Props, top bool) {
	p := qemu.Props{{Key: "node-name", Value: name + "-format"}, {Key: "read-only", Value: l.readOnly}}
	if k.Driver.Discard != "" {
		p = p.With("discard", k.Driver.Discard)
	}
	if k.Driver.DetectZeroes != "" && top {
		p = p.With("detect-zeroes", k.Driver.DetectZeroes)
	}
	p = append(p, cache...)
	p = p.With("driver", l.format).With("file", name+"-storage")
	switch {
	case below != "":
		p = p.With("backing", below)
	case l.format == "qcow2":
		p = p.With("backing", nil)
	}
	c.cfg.Blockdevs = append(c.cfg.Blockdevs, p)
}

// isDirect reports whether a disk's data goes past the page cache.
func isDirect(k *spec.Disk) bool { return k.Driver.Cache == "none" || k.Driver.Cache == "directsync" }

func cacheProps(k *spec.Disk) (qemu.Props, error) {
	direct, noFlush := isDirect(k), false
	switch k.Driver.Cache {
	case "", "default":
		if k.Driver.IO == "native" {
			return nil, unsupported("disk/driver", "%s: io='native' bypasses the page cache; use it with cache='none' or 'directsync'", diskName(k))
		}
		return nil, nil
	case "none", "directsync", "writeback", "writethrough":
	case "unsafe":
		noFlush = true
	default:
		return nil, invalid("disk/driver", "%s: cache=%q is none of none, writethrough, writeback, directsync, unsafe", diskName(k), k.Driver.Cache)
	}
	if k.Driver.IO == "native" && !direct {
		return nil, unsupported("disk/driver", "%s: io='native' bypasses the page cache; use it with cache='none' or 'directsync'", diskName(k))
	}
	return qemu.Props{{Key: "cache", Value: qemu.Props{{Key: "direct", Value: direct}, {Key: "no-flush", Value: noFlush}}}}, nil
}
