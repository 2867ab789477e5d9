package disk

import (
	"archive/tar"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
	"syscall"
)

// content is how much room files need.
type content struct {
	files   int64
	bytes   int64 // in blocks of 4 KiB
	folders int64
}

const block = 4096

// measure counts a folder of the host or an archive.
func (s MakeSpec) measure(ctx context.Context) (content, error) {
	switch {
	case s.Dir != "":
		return measureFolder(ctx, s.Dir)
	case s.Archive != nil:
		return measureArchive(ctx, s.Archive)
	}
	return content{}, nil
}

// measureFolder counts a file with several names once, and of a file with holes its blocks.
func measureFolder(ctx context.Context, dir string) (c content, err error) {
	type inode struct{ device, number uint64 }
	seen := map[inode]bool{}
	err = filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err == nil {
			err = ctx.Err()
		}
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		c.files++
		st, ok := info.Sys().(*syscall.Stat_t)
		if !ok {
			return nil
		}
		id := inode{st.Dev, st.Ino}
		if info.IsDir() {
			c.folders++
		} else if seen[id] {
			return nil
		}
		if st.Nlink > 1 && !info.IsDir() {
			seen[id] = true
		}
		c.bytes += (min(st.Blocks*512, info.Size()+block) + block - 1) / block * block
		return nil
	})
	if err != nil {
		return c, fmt.Errorf("measure %s: %w", dir, err)
	}
	return c, nil
}

// measureArchive reads all headers. Of a file with holes the archive holds the data alone.
func measureArchive(ctx context.Context, f io.ReadSeeker) (c content, err error) {
	if _, err := f.Seek(0, io.SeekStart); err != nil {
		return c, fmt.Errorf("measure the archive: %w", err)
	}
	count := &counted{r: f}
	r := tar.NewReader(struct{ io.Reader }{count}) // without Seek: holes are counted by the bytes that are read
	last := int64(0)
	for {
		if err := ctx.Err(); err != nil {
			return c, err
		}
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			c.bytes += roundUp(count.done - last)
			return c, nil
		}
		if err != nil {
			return c, fmt.Errorf("measure the archive: %w", err)
		}
		c.files++
		if h.Typeflag == tar.TypeDir {
			c.folders++
		}
		c.bytes += roundUp(count.done - last)
		last = count.done
	}
}

func roundUp(n int64) int64 { return (n + block - 1) / block * block }

// inodes is how many an ext4 gets, with some to spare.
func (c content) inodes() int64 { return c.files*11/10 + 256 }

// imageSize estimates how large an image has to be, with the structures of its file system.
func (c content) imageSize(s MakeSpec) int64 {
	const mib = 1 << 20
	n := c.bytes + c.folders*block + s.Free
	switch s.Type {
	case "xfs": // its log has 64 MiB, and mkfs.xfs refuses less than 300
		n = max(n*11/10+c.files*1024+80*mib, 320*mib)
	case "btrfs": // metadata are there twice, in pieces of a tenth of the disk
		n = max(n*12/10+c.files*8192+128*mib, 160*mib)
	case "vfat":
		n = max(n*102/100+c.files*block+2*mib, 4*mib)
	default:
		n += c.inodes() * 256
		switch { // the journals that mkfs.ext4 makes
		case n > 900*mib:
			n += 64 * mib
		case n > 100*mib:
			n += 16 * mib
		default:
			n += 4 * mib
		}
		n = max(n*108/100+mib, 8*mib)
	}
	if s.Table != "" {
		n += 2 * mib
	}
	return (n + mib - 1) / mib * mib
}
