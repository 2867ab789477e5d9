package disk

import (
	"context"
	"errors"
	"fmt"

	"taproom/internal/appliance/launch"
	"taproom/internal/appliance/replica"
)

// ErrNoMonitor means that the appliance was launched by UML or Libvirt, which can neither resize nor copy an image.
var ErrNoMonitor = launch.ErrNoMonitor

// Reasons to leave an image as it is, which another program has written to or put another one in the place of.
var (
	ErrChanged  = replica.ErrChanged
	ErrReplaced = replica.ErrReplaced
)

// SaveOptions says how an image is copied.
type SaveOptions struct {
	Format   string // of the copy: "raw" or "qcow2", the default
	Compress bool   // clusters of a qcow2
	Progress Progress
}

// image returns an error unless there is an image at that place in Spec.Images.
func (a *Appliance) image(i int) error {
	if i < 0 || i >= len(a.disks) {
		return fmt.Errorf("there is no image %d: the appliance has %d", i, len(a.disks))
	}
	return nil
}

// SaveAs writes an image, with all changes made in this appliance, to a new file, which stands alone: it has no backing file. Blocks that are zero, or that
// TrimAll has dropped, take no room in it. The path must be free, and is there when the copy is whole and on the host's disk. Nothing may be
// mounted: data in the memory of the appliance's kernel would be missing. The copy has the permissions that the image and all files that it leads to have in common.
func (a *Appliance) SaveAs(ctx context.Context, image int, path string, o SaveOptions) error {
	if err := a.image(image); err != nil {
		return err
	}
	f, err := replica.Create(path, a.files[image]...)
	if err != nil {
		return err
	}
	return a.save(ctx, image, f, o)
}

// SaveInPlace is SaveAs to the image's own path: the copy takes the image's place by a single rename when it is whole, with its owner, permissions and
// attributes. Until then the image is as it was. The appliance has the old image open, which takes room until Close. It must have been opened with
// Discard or ReadOnly by the same path: an image that another program has changed or replaced since then is ErrChanged or ErrReplaced, and stays.
// An image with internal snapshots or bitmaps is ErrBeside.
func (a *Appliance) SaveInPlace(ctx context.Context, image int, path string, o SaveOptions) error {
	if err := a.image(image); err != nil {
		return err
	}
	if !a.kept[image] {
		return fmt.Errorf("put a copy of %s in its place: the appliance may change the image itself; open it with Discard or ReadOnly", path)
	}
	f, err := replica.Replace(path, a.files[image][0])
	if err != nil {
		return err
	}
	if err := nothingBeside(f, path, a.formats[image]); err != nil {
		return errors.Join(err, f.Close())
	}
	return a.save(ctx, image, f, o)
}

// save writes an image to a new file and closes that.
func (a *Appliance) save(ctx context.Context, image int, f *replica.Fresh, o SaveOptions) (err error) {
	defer func() { err = errors.Join(err, f.Close()) }()
	if err := a.image(image); err != nil {
		return err
	}
	if o.Format == "" {
		o.Format = "qcow2"
	}
	if o.Compress && o.Format != "qcow2" {
		return fmt.Errorf("a %s image has no compressed clusters; take qcow2", o.Format)
	}
	if err := a.Sync(ctx); err != nil {
		return err
	}
	size, err := a.a.Agent().Await(ctx, a.serials[image]) // it may have grown
	if err == nil {
		err = a.a.SaveAs(ctx, a.serials[image], uint64(size.Size), f.File(), launch.SaveOptions{Format: o.Format, Compress: o.Compress, Progress: o.Progress})
	}
	if err == nil {
		err = ctx.Err() // the copy gets no name after an interrupt
	}
	if err != nil {
		return err
	}
	return f.Commit()
}

// Trimmed is a file system of which the unused blocks were dropped.
type Trimmed struct {
	Device, Type string
	Bytes        int64  // that were dropped
	Problem      string // why they were not; "" where they were
}

// TrimAll drops the unused blocks of every file system of the images (fstrim), so that SaveAs leaves them out. Nothing may be mounted, and the
// images must be open with an Access that takes writes: with Discard the image stays as it is. File systems that cannot be mounted, or that do not
// know unused blocks, have a Problem and are no error.
func (a *Appliance) TrimAll(ctx context.Context) ([]Trimmed, error) {
	list, err := a.Filesystems(ctx, LookOptions{})
	if err != nil {
		return nil, err
	}
	var out []Trimmed
	for _, f := range list {
		if !f.Mountable() || f.Type == "iso9660" || f.Type == "squashfs" || f.Type == "erofs" || f.Type == "udf" {
			continue
		}
		t := Trimmed{Device: f.Device, Type: f.Type}
		if t.Bytes, err = a.trim(ctx, f); err != nil {
			if ctx.Err() != nil || a.a.Agent().Err() != nil {
				return out, err
			}
			t.Problem = err.Error()
		}
		out = append(out, t)
	}
	return out, nil
}

func (a *Appliance) trim(ctx context.Context, f Filesystem) (int64, error) {
	if err := a.MountWith(ctx, MountSpec{Device: f.Device, At: "/", Type: f.Type}); err != nil {
		return 0, err
	}
	n, err := a.a.Agent().Trim(ctx, "/")
	return n, errors.Join(err, a.Unmount(context.WithoutCancel(ctx), "/"))
}
