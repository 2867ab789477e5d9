package bench

import (
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"unsafe"

	"golang.org/x/sys/unix"
)

// execs counts the processes that execute a program. A mount belongs to one mount namespace, so it hears of nobody outside.
type execs struct{ file *os.File }

// watchExecs begins to count those whose program is on the mount that one of the paths is on.
func watchExecs(paths ...string) (*execs, error) {
	fd, err := unix.FanotifyInit(unix.FAN_CLASS_NOTIF|unix.FAN_CLOEXEC|unix.FAN_NONBLOCK|unix.FAN_UNLIMITED_QUEUE, unix.O_RDONLY|unix.O_CLOEXEC|unix.O_LARGEFILE)
	if err != nil {
		return nil, fmt.Errorf("count the programs that are executed: %w", err)
	}
	e := &execs{file: os.NewFile(uintptr(fd), "fanotify")}
	for _, p := range paths {
		if err := unix.FanotifyMark(fd, unix.FAN_MARK_ADD|unix.FAN_MARK_MOUNT, unix.FAN_OPEN_EXEC, unix.AT_FDCWD, p); err != nil {
			return nil, errors.Join(fmt.Errorf("count the programs that are executed from %s: %w", p, err), e.close())
		}
	}
	return e, nil
}

// count is how many processes there were since it was asked last. A program's loader and interpreter are its own.
func (e *execs) count() (int, error) {
	seen := map[uint32]bool{}
	err := e.each(func(pid uint32, _ string) { seen[pid] = true })
	return len(seen), err
}

// each calls visit for every file that was opened to be executed since the last call, with the process. The path is "" where
// the file cannot be read.
func (e *execs) each(visit func(pid uint32, path string)) error {
	const size = int(unsafe.Sizeof(unix.FanotifyEventMetadata{}))
	buf := make([]byte, 64<<10)
	for {
		n, err := unix.Read(int(e.file.Fd()), buf)
		switch {
		case errors.Is(err, unix.EAGAIN):
			return nil
		case errors.Is(err, unix.EINTR):
			continue
		case err != nil:
			return fmt.Errorf("count the programs that were executed: %w", err)
		}
		for b := buf[:n]; len(b) >= size; {
			// struct fanotify_event_metadata: the length of the event, then its mask, a descriptor at 16, a process at 20.
			length, fd, pid := binary.NativeEndian.Uint32(b), int32(binary.NativeEndian.Uint32(b[16:])), binary.NativeEndian.Uint32(b[20:])
			path := ""
			if fd >= 0 {
				path, _ = os.Readlink(fmt.Sprintf("/proc/self/fd/%d", fd))
				_ = unix.Close(int(fd))
			}
			visit(pid, path)
			b = b[length:]
		}
	}
}

func (e *execs) close() error { return e.file.Close() }
