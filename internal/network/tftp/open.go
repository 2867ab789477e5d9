package tftp

import (
	"errors"
	"os"
	"strings"

	"golang.org/x/sys/unix"
)

// localName turns what clients write into a path below the directory: Windows' boot loaders write "\boot\x", PXE ROMs
// "/x", and configurations made for other servers the whole path on the host.
func localName(name, root string) string {
	name = strings.ReplaceAll(name, `\`, "/")
	if root = strings.TrimRight(root, "/"); root != "" {
		if below, ok := strings.CutPrefix(name, root+"/"); ok {
			name = below
		}
	}
	return strings.TrimLeft(name, "/")
}

// open opens a regular file below a directory.
func open(dir *os.File, name string) (*os.File, int64, error) {
	if name == "" {
		return nil, 0, &Error{Code: CodeNotFound, Message: "no file is named"}
	}
	control, err := dir.SyscallConn()
	if err != nil {
		return nil, 0, refusal(err)
	}
	var f *os.File
	var size int64
	outer := control.Control(func(fd uintptr) { f, size, err = openRegular(int(fd), name) })
	if err = errors.Join(outer, err); err != nil {
		return nil, 0, refusal(err)
	}
	return f, size, nil
}

// errIrregular is a directory, a device or the like.
var errIrregular = errors.New("not a regular file")

// openRegular looks before it opens: opening a device can do something, and opening a pipe waits.
func openRegular(dir int, name string) (*os.File, int64, error) {
	probe, err := beneath(dir, name, unix.O_PATH)
	if err != nil {
		return nil, 0, err
	}
	_, err = regular(probe)
	unix.Close(probe)
	if err != nil {
		return nil, 0, err
	}
	fd, err := beneath(dir, name, unix.O_RDONLY|unix.O_NONBLOCK|unix.O_NOCTTY)
	if err != nil {
		return nil, 0, err
	}
	size, err := regular(fd)
	if err != nil {
		unix.Close(fd)
		return nil, 0, err
	}
	return os.NewFile(uintptr(fd), name), size, nil
}

func regular(fd int) (int64, error) {
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		return 0, err
	}
	if st.Mode&unix.S_IFMT != unix.S_IFREG {
		return 0, errIrregular
	}
	return st.Size, nil
}

// beneath opens a name that resolves below dir from the first to the last part.
func beneath(dir int, name string, flags uint64) (int, error) {
	how := unix.OpenHow{Flags: flags | unix.O_CLOEXEC, Resolve: unix.RESOLVE_BENEATH | unix.RESOLVE_NO_MAGICLINKS}
	for tries := 0; ; tries++ {
		fd, err := unix.Openat2(dir, name, &how)
		// The kernel cannot tell whether ".." stayed below while somebody renames directories (openat2(2)).
		if errors.Is(err, unix.EINTR) || errors.Is(err, unix.EAGAIN) && tries < 16 {
			continue
		}
		return fd, err
	}
}

// refusal says what the client may know of an error.
func refusal(err error) *Error {
	switch {
	case errors.Is(err, unix.ENOENT), errors.Is(err, unix.ENOTDIR), errors.Is(err, unix.ENAMETOOLONG):
		return &Error{Code: CodeNotFound, Message: "file not found", Err: err}
	case errors.Is(err, unix.EACCES), errors.Is(err, unix.EPERM), errors.Is(err, unix.EXDEV), errors.Is(err, unix.ELOOP), errors.Is(err, errIrregular):
		return &Error{Code: CodeAccess, Message: "access violation", Err: err}
	case errors.Is(err, unix.EMFILE), errors.Is(err, unix.ENFILE), errors.Is(err, unix.ENOMEM):
		return &Error{Code: CodeOther, Message: "server is busy, try again", Err: err}
	}
	return &Error{Code: CodeOther, Message: "the file cannot be read", Err: err}
}
