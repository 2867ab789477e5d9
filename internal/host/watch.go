package host

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sys/unix"
)

// Watch tells of writes to the files of one directory, from when it was made.
type Watch struct {
	dir  string
	file *os.File
}

// WatchWrites begins to watch a directory. Run, which ends the watch, must be called.
func (k *Kernel) WatchWrites(dir string) (*Watch, error) {
	k.Step("directory watch " + filepath.Base(dir))
	fd, err := unix.InotifyInit1(unix.IN_CLOEXEC | unix.IN_NONBLOCK)
	if err != nil {
		return nil, fmt.Errorf("watch %s: %w", dir, err)
	}
	w := &Watch{dir: dir, file: os.NewFile(uintptr(fd), "inotify")}
	if _, err := unix.InotifyAddWatch(fd, dir, unix.IN_MODIFY|unix.IN_ONLYDIR); err != nil {
		return nil, errors.Join(fmt.Errorf("watch %s: %w", dir, err), w.file.Close())
	}
	return w, nil
}

// Run calls each with the name of every file that is written to, until ctx is done; many writes may be told as one. With ""
// more was written than could be told.
func (w *Watch) Run(ctx context.Context, each func(name string)) error {
	defer w.file.Close()
	stop := context.AfterFunc(ctx, func() { _ = w.file.SetReadDeadline(time.Unix(1, 0)) })
	defer stop()
	for buf := make([]byte, 16<<10); ; {
		n, err := w.file.Read(buf)
		if ctx.Err() != nil {
			return nil
		}
		if err != nil {
			return fmt.Errorf("watch %s: %w", w.dir, err)
		}
		for b := buf[:n]; len(b) >= unix.SizeofInotifyEvent; {
			end := unix.SizeofInotifyEvent + int(binary.NativeEndian.Uint32(b[12:])) // struct inotify_event: wd, mask, cookie, len, name
			name, _, _ := bytes.Cut(b[unix.SizeofInotifyEvent:end], []byte{0})
			each(string(name)) // an overflow has none
			b = b[end:]
		}
	}
}

// Truncate cuts an open file to a size.
func (k *Kernel) Truncate(f *os.File, size int64) error {
	k.Step("file truncate " + filepath.Base(f.Name()))
	return f.Truncate(size)
}
