package host

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// FileWatch tells when what a path names may have become something else: the file was written, replaced, removed or came
// to be, or a symbolic link on the way to it was. It is used by one goroutine.
type FileWatch struct {
	path  string
	queue *os.File
	fd    int                // of the queue; File.Fd would take it from the poller
	names map[int32][]string // by watched directory
}

const (
	// watchMask is what happens to names in a directory, and to the directory itself.
	watchMask = unix.IN_CLOSE_WRITE | unix.IN_MODIFY | unix.IN_CREATE | unix.IN_DELETE | unix.IN_MOVED_FROM | unix.IN_MOVED_TO |
		unix.IN_DELETE_SELF | unix.IN_MOVE_SELF | unix.IN_ONLYDIR
	// watchSelf is what concerns a directory and no name in it, or says that the kernel dropped events.
	watchSelf = unix.IN_DELETE_SELF | unix.IN_MOVE_SELF | unix.IN_IGNORED | unix.IN_UNMOUNT | unix.IN_Q_OVERFLOW
	// maxLinks is how many symbolic links the kernel follows (MAXSYMLINKS, fs/namei.c).
	maxLinks = 40
)

// WatchFile begins to watch a path. A path that names nothing yet is watched too. What is read after it returned, and after
// each Wait, is never older than the last change that nobody is told of.
func (k *Kernel) WatchFile(path string) (*FileWatch, error) {
	k.Step("file watch")
	fd, err := unix.InotifyInit1(unix.IN_CLOEXEC | unix.IN_NONBLOCK)
	if errors.Is(err, unix.EMFILE) {
		err = fmt.Errorf("%w; raise the sysctl fs.inotify.max_user_instances", err)
	}
	if err != nil {
		return nil, fmt.Errorf("watch %s: %w", path, err)
	}
	w := &FileWatch{path: path, queue: os.NewFile(uintptr(fd), "inotify"), fd: fd}
	if err := w.follow(); err != nil {
		return nil, errors.Join(err, w.queue.Close())
	}
	return w, nil
}

// Close ends the watch.
func (w *FileWatch) Close() error { return w.queue.Close() }

// Wait returns when something happened that may matter.
func (w *FileWatch) Wait(ctx context.Context) error {
	if err := w.queue.SetReadDeadline(time.Time{}); err != nil {
		return fmt.Errorf("watch %s: %w", w.path, err)
	}
	stop := context.AfterFunc(ctx, func() { _ = w.queue.SetReadDeadline(time.Unix(1, 0)) })
	defer stop()
	buf := make([]byte, 16<<10)
	for {
		n, err := w.queue.Read(buf)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err != nil {
			return fmt.Errorf("watch %s: %w", w.path, err)
		}
		if w.matters(buf[:n]) {
			return w.follow()
		}
	}
}

// matters reports whether one of the events (struct inotify_event, inotify(7)) is about a name on the way to the file.
func (w *FileWatch) matters(events []byte) bool {
	const head = unix.SizeofInotifyEvent
	for len(events) >= head {
		wd := int32(binary.NativeEndian.Uint32(events))
		mask := binary.NativeEndian.Uint32(events[4:])
		size := int(binary.NativeEndian.Uint32(events[12:]))
		if size > len(events)-head {
			return true // cannot be: better once too often
		}
		name := strings.TrimRight(string(events[head:head+size]), "\x00")
		names, known := w.names[wd]
		if mask&watchSelf != 0 || known && slices.Contains(names, name) {
			return true
		}
		events = events[head+size:]
	}
	return false
}

// follow watches the directories on the way to the file, until that way stays the same.
func (w *FileWatch) follow() error {
	way, err := linksTo(w.path)
	for tries := 0; err == nil; tries++ {
		if err = w.set(way); err != nil {
			break
		}
		var now []string
		if now, err = linksTo(w.path); err != nil || slices.Equal(now, way) || tries == maxLinks {
			break
		}
		way = now
	}
	if err != nil {
		return fmt.Errorf("watch %s: %w", w.path, err)
	}
	return nil
}

// set watches the directories of these paths and no others.
func (w *FileWatch) set(paths []string) error {
	old := w.names
	w.names = map[int32][]string{}
	for _, p := range paths {
		dir, name := filepath.Dir(p), filepath.Base(p)
		for {
			wd, err := unix.InotifyAddWatch(w.fd, dir, watchMask)
			if err == nil {
				w.names[int32(wd)] = append(w.names[int32(wd)], name)
				break
			}
			if !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, unix.ENOTDIR) || dir == filepath.Dir(dir) {
				return fmt.Errorf("watch folder %s: %w", dir, err)
			}
			dir, name = filepath.Dir(dir), filepath.Base(dir) // until the folder is there
		}
	}
	for wd := range maps.Keys(old) {
		if _, still := w.names[wd]; !still {
			_, _ = unix.InotifyRmWatch(w.fd, uint32(wd)) // the folder may be gone
		}
	}
	return nil
}

// linksTo returns a path and where the symbolic links lead that begin at it.
func linksTo(path string) ([]string, error) {
	way := []string{path}
	for range maxLinks {
		to, err := os.Readlink(path)
		switch {
		case errors.Is(err, unix.EINVAL), errors.Is(err, fs.ErrNotExist), errors.Is(err, unix.ENOTDIR):
			return way, nil // a file, or nothing
		case err != nil:
			return nil, err
		}
		if !filepath.IsAbs(to) {
			to = filepath.Join(filepath.Dir(path), to)
		}
		path = to
		way = append(way, path)
	}
	return way, nil // a circle of links: one of them will change
}
