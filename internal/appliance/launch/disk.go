package launch

import (
	"errors"
	"fmt"
	"io/fs"
	"os"

	"golang.org/x/sys/unix"

	"taproom/internal/appliance/chain"
	"taproom/internal/host"
	"taproom/internal/image/qcow2"
	"taproom/internal/qemu"
)

// Access is what an appliance may do to a disk.
type Access int

// Kinds of access.
const (
	// Discard lets the appliance write, into a private file that is gone with it: the image stays as it is. That is how to look
	// into a file system that was not cleanly unmounted.
	Discard Access = iota
	// ReadOnly gives it a disk that refuses writes.
	ReadOnly
	// Write changes the image. What the guest flushes has reached the host's disk when the guest is told so.
	Write
	// Scratch changes the image, and what the guest flushes reaches the disk whenever the host sees fit: for what is thrown away
	// when anything goes wrong.
	Scratch
)

// writes reports whether an image is opened for writing.
func (a Access) writes() bool { return a == Write || a == Scratch }

// Disk is a disk image that an appliance is to open.
type Disk struct {
	Path   string
	Format string // "raw" or "qcow2"; "" is looked for, unless the image is written to
	Access Access
	// Within names the files and folders that the image may lead to, its backing files above all. None: it stands alone.
	Within []string
	// Copy is opened instead of Path, of which it is a copy: see chain.Image. Not in domains of libvirt's.
	Copy string
	// Overlays is the folder where Discard keeps what the guest writes, in a file without a name; "": TMPDIR, or /tmp.
	Overlays string
}

// Device is a disk that an appliance has.
type Device struct {
	Name     string // below /dev in there; its partitions' names begin with it
	Serial   string // the agent's Mount takes "serial:" and this as well
	Capacity uint64 // bytes
	// Files are the image's file, and those that it leads to, as they were before the appliance read them. The image's own is the first.
	Files []fs.FileInfo
}

// fileSet is a set of descriptors that QEMU is given.
type fileSet struct {
	id    int
	files []*os.File
}

// diskPlan is what QEMU is told to make of an image.
type diskPlan struct {
	sets   []fileSet
	nodes  []qemu.Props // the lowest first
	device qemu.Props
}

// serial is the disk's serial number.
func (p diskPlan) serial() string { return p.device.Get("serial").(string) } // scsiDisk gives it one

// planner numbers sets and names nodes of one disk.
type planner struct {
	plan   diskPlan
	prefix string
	set    int
}

// planDisk describes a disk at a SCSI target to QEMU. overlay holds what a guest writes to an image that stays as it is; nil
// where there is none. set is the first number for sets of descriptors. QEMU follows nothing that an image names: each layer
// has as its backing what was opened, or nothing.
func planDisk(target, set int, access Access, c chain.Chain, overlay *os.File) diskPlan {
	p := planner{prefix: fmt.Sprintf("disk%d", target), set: set}
	below := ""
	for i := len(c) - 1; i >= 0; i-- {
		below = p.layer(i, c[i], access.writes() && i == 0, access == Scratch, below)
	}
	if overlay != nil {
		storage := p.storage("overlay-file", "file", true, true, overlay)
		below = p.node(qemu.Props{
			{Key: "driver", Value: chain.QCOW2},
			{Key: "node-name", Value: p.prefix + "-overlay"},
			{Key: "read-only", Value: false},
			{Key: "cache", Value: unsafeCache()},
			{Key: "discard", Value: "unmap"},
			{Key: "file", Value: storage},
			{Key: "backing", Value: below},
		})
	}
	p.plan.device = reporting(scsiDisk(target, 0, below, p.prefix))
	return p.plan
}

// reporting is a disk whose errors the guest is told of: nobody is there to make room and let it go on.
func reporting(disk qemu.Props) qemu.Props {
	return disk.With("werror", "report").With("rerror", "report")
}

// unsafeCache is how what is thrown away is written: nothing waits for a disk.
func unsafeCache() qemu.Props {
	return qemu.Props{{Key: "direct", Value: false}, {Key: "no-flush", Value: true}}
}

func (p *planner) node(n qemu.Props) (name string) {
	p.plan.nodes = append(p.plan.nodes, n)
	return n.Get("node-name").(string) // each node here has one
}

// storage is a node that reads and writes a file, by its descriptors.
func (p *planner) storage(name, driver string, write, scratch bool, files ...*os.File) string {
	n := qemu.Props{
		{Key: "driver", Value: driver},
		{Key: "node-name", Value: p.prefix + "-" + name},
		{Key: "filename", Value: qemu.FDSet{ID: p.set}.Path()},
		{Key: "read-only", Value: !write},
		{Key: "auto-read-only", Value: false},
	}
	if scratch {
		n = n.With("cache", unsafeCache())
	}
	if write {
		n = n.With("discard", "unmap")
	}
	p.plan.sets = append(p.plan.sets, fileSet{p.set, files})
	p.set++
	return p.node(n)
}

// driverOf is what reads and writes a file or block device.
func driverOf(device bool) string {
	if device {
		return "host_device"
	}
	return "file"
}

// layer is one image: its file, the file with its data where there is one, and what understands it.
func (p *planner) layer(i int, l chain.Layer, write, scratch bool, below string) string {
	file := l.File
	if write {
		file = l.Writable
	}
	name := fmt.Sprint(i)
	n := qemu.Props{{Key: "driver", Value: l.Format}, {Key: "node-name", Value: p.prefix + "-" + name}, {Key: "read-only", Value: !write}}
	if write {
		n = n.With("discard", "unmap")
	}
	if scratch {
		n = n.With("cache", unsafeCache())
	}
	n = n.With("file", p.storage(name+"-file", driverOf(l.Device), write, scratch, file))
	if l.Format != chain.QCOW2 {
		return p.node(n)
	}
	if l.Data != nil {
		data := l.Data
		if write {
			data = l.DataWritable
		}
		n = n.With("data-file", p.storage(name+"-data", driverOf(l.DataDevice), write, scratch, data))
	}
	if below == "" {
		return p.node(n.With("backing", nil))
	}
	return p.node(n.With("backing", below))
}

// newOverlay makes a file without a name for what a guest writes over an image of some capacity.
func newOverlay(k *host.Kernel, dir string, capacity uint64) (*os.File, error) {
	if dir == "" {
		dir = os.TempDir()
	}
	f, err := k.OpenFile(dir, os.O_RDWR|unix.O_TMPFILE, 0o600)
	if err == nil {
		err = writeOverlay(f, capacity)
	}
	if err != nil {
		return nil, fmt.Errorf("make a file in %s for what the appliance writes: %w", dir, err)
	}
	return f, nil
}

// writeOverlay writes an empty image to a file, which it closes where that fails.
func writeOverlay(f *os.File, capacity uint64) error {
	if err := qcow2.Write(f, qcow2.Options{Capacity: capacity}); err != nil {
		return errors.Join(err, f.Close())
	}
	return nil
}
