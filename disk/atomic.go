package disk

import (
	"context"
	"errors"
	"fmt"

	"taproom/internal/appliance/launch"
	"taproom/internal/appliance/replica"
)

// Atomic makes all changes to an image or none. They go to a private copy without a name, in the image's folder, which takes the image's place by
// Commit, in one step; whatever ends this process before that leaves the image as it was, byte by byte. The copy shares its blocks with the
// image where the file system can do that (btrfs, xfs); else it takes as much room as the image has data. Only a file can be
// exchanged, not a block device, and not one that has several names. What lies below an overlay stays where it is.
const Atomic Access = -1

// atomic are the copies of an appliance's images.
type atomic struct{ copies []*replica.Copy }

// open returns how the appliance is to open an image, and for one of Atomic the path of the copy that it is given.
func (c *atomic) open(ctx context.Context, i Image, way Way) (Access, string, error) {
	if i.Access != Atomic {
		return i.Access, "", nil
	}
	if way == Libvirt {
		return 0, "", fmt.Errorf("image %s: a libvirt daemon opens images by their names, and a private copy has none; choose another way", i.Path)
	}
	made, err := replica.Open(ctx, nil, i.Path, nil)
	if err != nil {
		return 0, "", err
	}
	c.copies = append(c.copies, made)
	return launch.Scratch, made.Path(), nil // nothing of it counts before it is whole
}

// close gives up what was not committed.
func (c *atomic) close() error {
	var errs []error
	for _, made := range c.copies {
		errs = append(errs, made.Close())
	}
	c.copies = nil
	return errors.Join(errs...)
}

// Commit ends the appliance as Close does, and when all that was written is in the private copies of the images of Atomic puts these in the
// images' places, one after the other. After an error the image that it names, and those after it, are as they were. Without Commit, Close
// leaves all of them as they were.
func (a *Appliance) Commit(ctx context.Context) error {
	err := a.a.Shutdown(ctx)
	for _, made := range a.atomic.copies {
		if err != nil {
			break
		}
		err = made.Commit()
	}
	return errors.Join(err, a.atomic.close())
}
