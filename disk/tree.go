package disk

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"io/fs"
	"time"

	"taproom/internal/appliance/launch"
	"taproom/internal/appliance/proto"
)

// Device is a disk or a partition, as the appliance names it.
type Device struct {
	Name     string // "sda", "sda1": what Mount takes
	Size     int64  // bytes
	ReadOnly bool
	// What is on it, which Devices looks for: a file system, or blkid's name for something else.
	Type, UUID, Label string
}

// Devices lists the disks and their partitions, and looks for what is on each.
func (a *Appliance) Devices(ctx context.Context) ([]Device, error) {
	list, err := a.a.Agent().Devices(ctx, proto.Probe{Contents: true})
	if err != nil {
		return nil, err
	}
	var out []Device
	for _, d := range list {
		if d.Serial != toolsSerial && !launch.IsBulk(d.Serial) {
			out = append(out, Device{Name: d.Name, Size: d.Size, ReadOnly: d.ReadOnly, Type: d.Type, UUID: d.UUID, Label: d.Label})
		}
	}
	return out, nil
}

// toolsSerial is the number of a disk that is the appliance's own.
const toolsSerial = "taproom-tools"

// Mount mounts the file system of a device in the appliance's tree. The first one is mounted at "/".
func (a *Appliance) Mount(ctx context.Context, device, at string, readOnly bool) error {
	_, err := a.a.Agent().Mount(ctx, proto.Mount{Device: device, At: at, ReadOnly: readOnly})
	return err
}

// Unmount unmounts what is mounted there.
func (a *Appliance) Unmount(ctx context.Context, at string) error {
	return a.a.Agent().Unmount(ctx, at)
}

// Entry is one name in a folder. What it says was written by whoever made the image.
type Entry struct {
	Name     string
	Target   string // of a symbolic link: where it leads
	Mode     fs.FileMode
	UID, GID uint32
	Size     int64 // bytes
	ModTime  time.Time
}

// List lists a folder, in no order.
func (a *Appliance) List(ctx context.Context, path string) ([]Entry, error) {
	list, err := a.a.Agent().List(ctx, path)
	if err != nil {
		return nil, err
	}
	out := make([]Entry, len(list))
	for i, e := range list {
		out[i] = Entry{
			Name: e.Name, Target: e.Target, Mode: e.Stat.FileMode(), UID: e.Stat.UID, GID: e.Stat.GID, Size: e.Stat.Size,
			ModTime: time.Unix(0, e.Stat.ModifyNS),
		}
	}
	return out, nil
}

// CopyOut writes what a regular file holds to w. Symbolic links are followed within the tree. It is fastest where w is an empty
// *os.File that was opened for reading and writing; what is large and goes elsewhere takes as much room in TMPDIR meanwhile.
func (a *Appliance) CopyOut(ctx context.Context, path string, w io.Writer) error {
	return a.a.CopyOut(ctx, path, w)
}

// ReadFile returns what a regular file holds, at most the first limit bytes: nobody knows how large it is.
func (a *Appliance) ReadFile(ctx context.Context, path string, limit int64) ([]byte, error) {
	if limit < 0 {
		return nil, fmt.Errorf("read %s: %d bytes at most: a limit cannot be negative", path, limit)
	}
	var b bytes.Buffer
	err := a.a.Agent().Read(ctx, proto.Read{Path: path, Length: limit}, &b)
	return b.Bytes(), err
}

// CopyIn makes a regular file with a mode, of which the permissions count, or replaces what one holds, which keeps its mode, owner and
// attributes. It is fastest where r is an *os.File that was opened for reading alone and is read from its start; what is large and comes from
// elsewhere takes as much room in TMPDIR meanwhile. After an error the file may hold a part.
func (a *Appliance) CopyIn(ctx context.Context, path string, r io.Reader, mode fs.FileMode) error {
	return a.a.CopyIn(ctx, path, r, uint32(mode.Perm()), false)
}

// Sync returns when what was written is on the host's disk.
func (a *Appliance) Sync(ctx context.Context) error { return a.a.Agent().Sync(ctx) }
