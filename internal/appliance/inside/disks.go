package inside

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"taproom/internal/appliance/pid1"
)

// disks are the block devices below a sysfs and a /dev.
type disks struct{ sys, dev string }

func hostDisks() disks { return disks{"/sys/block", "/dev"} }

// open opens a block device for reading: a name below /dev, or "serial:" and a disk's serial number, which is waited for.
func (d disks) open(ctx context.Context, name string) (*os.File, error) {
	if serial, ok := strings.CutPrefix(name, "serial:"); ok {
		var err error
		if name, err = d.await(ctx, serial); err != nil {
			return nil, err
		}
	}
	if !filepath.IsLocal(name) {
		return nil, fmt.Errorf("%q is no device: %w", name, unix.EINVAL)
	}
	path := filepath.Join(d.dev, name)
	info, err := os.Stat(path) // opening what is no disk may do something
	if err != nil {
		return nil, err
	}
	if info.Mode().Type() != os.ModeDevice {
		return nil, fmt.Errorf("%s is no disk: %w", name, unix.ENOTBLK)
	}
	return os.OpenFile(path, os.O_RDONLY|unix.O_NONBLOCK, 0)
}

// await returns the name of the disk with a serial number, when it is there and can be opened.
func (d disks) await(ctx context.Context, serial string) (string, error) {
	if name := d.ready(serial); name != "" {
		return name, nil
	}
	events, err := pid1.OpenUevents()
	if err != nil {
		return "", err
	}
	defer events.Close()
	stop := context.AfterFunc(ctx, func() { _ = events.SetReadDeadline(time.Unix(1, 0)) })
	defer stop()
	for {
		if name := d.ready(serial); name != "" {
			return name, nil
		}
		for {
			e, err := events.Next()
			if ctx.Err() != nil {
				return "", fmt.Errorf("wait for the disk with the serial number %q: %w", serial, context.Cause(ctx))
			}
			if errors.Is(err, unix.ENOBUFS) || (err == nil && e["SUBSYSTEM"] == "block") {
				break
			}
			if err != nil {
				return "", err
			}
		}
	}
}

// ready is the name of the disk with a serial number. The kernel shows a disk, and makes its device, some time before that can be opened;
// the event that tells of the disk comes after both.
func (d disks) ready(serial string) string {
	name := d.bySerial(serial)
	if name == "" {
		return ""
	}
	f, err := os.OpenFile(filepath.Join(d.dev, name), os.O_RDONLY|unix.O_NONBLOCK, 0)
	if errors.Is(err, unix.ENXIO) || errors.Is(err, unix.ENOENT) {
		return ""
	}
	if err == nil {
		_ = f.Close()
	}
	return name
}

func (d disks) bySerial(serial string) string {
	for _, name := range pid1.ReadNames(d.sys) {
		if pid1.Serial(filepath.Join(d.sys, name)) == serial {
			return name
		}
	}
	return ""
}
