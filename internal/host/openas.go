package host

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"unsafe"

	"golang.org/x/sys/unix"
)

// NotAllowed says which part of a path keeps a user from a file. It is a unix.EACCES.
type NotAllowed struct {
	UID   uint32
	Path  string // of the directory, or of the file itself
	Enter bool   // it is a directory on the way
}

// Error says what to do about it.
func (e *NotAllowed) Error() string {
	if e.Enter {
		return fmt.Sprintf("user %d may not enter %s: chmod o+x %s, or put the file elsewhere", e.UID, e.Path, e.Path)
	}
	return fmt.Sprintf("user %d may not read it: chmod o+r %s", e.UID, e.Path)
}

// Unwrap returns the errno.
func (e *NotAllowed) Unwrap() error { return unix.EACCES }

// OpenAs opens a file for reading without waiting for what is behind it, and fails with a *NotAllowed where a user with
// that group and no other may not. It is the file that a process of that user would get.
func (k *Kernel) OpenAs(path string, uid, gid uint32) (*os.File, error) {
	k.Step("file open " + filepath.Base(path))
	fd, err := -1, error(nil)
	serr := asUser(uid, gid, func() {
		fd, err = unix.Open(path, unix.O_RDONLY|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
		if errors.Is(err, unix.EACCES) {
			err = denied(path, uid)
		}
	})
	switch {
	case serr != nil:
		return nil, errors.Join(serr, closeFD(fd))
	case errors.Is(err, unix.EACCES):
		return nil, err
	case err != nil:
		return nil, &os.PathError{Op: "open", Path: path, Err: err}
	}
	return os.NewFile(uintptr(fd), path), nil
}

func closeFD(fd int) error {
	if fd < 0 {
		return nil
	}
	return unix.Close(fd)
}

// denied finds the first directory that the calling thread may not enter on the way to path.
func denied(path string, uid uint32) error {
	at := "/"
	for name := range strings.SplitSeq(strings.Trim(filepath.Clean(path), "/"), "/") {
		fd, err := unix.Open(filepath.Join(at, name), unix.O_PATH|unix.O_CLOEXEC, 0)
		if errors.Is(err, unix.EACCES) {
			return &NotAllowed{UID: uid, Path: at, Enter: true}
		}
		if err != nil {
			break
		}
		_ = unix.Close(fd)
		at = filepath.Join(at, name)
	}
	return &NotAllowed{UID: uid, Path: path}
}

// setGroups sets the supplementary groups of the calling thread.
func setGroups(groups []int) error {
	ids := make([]uint32, len(groups)+1) // never empty, so that it has an address
	for i, g := range groups {
		ids[i] = uint32(g)
	}
	if _, _, errno := unix.RawSyscall(unix.SYS_SETGROUPS, uintptr(len(groups)), uintptr(unsafe.Pointer(&ids[0])), 0); errno != 0 {
		return os.NewSyscallError("setgroups", errno)
	}
	return nil
}

// asUser runs f with the rights on files of another user. Raw system calls, because those of package syscall change every
// thread of the process; a thread that could not be changed back ends with its goroutine.
func asUser(uid, gid uint32, f func()) error {
	if unix.Geteuid() != 0 {
		f()
		return nil
	}
	groups, err := unix.Getgroups()
	if err != nil {
		return fmt.Errorf("read the groups: %w", err)
	}
	failed := make(chan error, 1)
	go func() {
		runtime.LockOSThread()
		if err := setGroups(nil); err != nil {
			runtime.UnlockOSThread()
			failed <- err
			return
		}
		_, _ = unix.SetfsgidRetGid(int(gid)) // they return what was before, never an error
		_, _ = unix.SetfsuidRetUid(int(uid))
		now, _ := unix.SetfsuidRetUid(-1)
		if now == int(uid) {
			f()
		}
		_, _ = unix.SetfsuidRetUid(0)
		_, _ = unix.SetfsgidRetGid(unix.Getegid())
		err := setGroups(groups)
		if back, _ := unix.SetfsuidRetUid(-1); back == 0 && err == nil {
			runtime.UnlockOSThread()
		}
		if now != int(uid) {
			err = fmt.Errorf("take the rights of user %d: the kernel refused", uid)
		}
		failed <- err
	}()
	return <-failed
}
