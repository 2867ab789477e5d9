package proto

import (
	"io/fs"

	"golang.org/x/sys/unix"
)

// FileMode is Mode as Go has it.
func (m *Stat) FileMode() fs.FileMode {
	mode := m.Mode
	out := fs.FileMode(mode & 0o777)
	for _, bit := range []struct {
		is  uint32
		set fs.FileMode
	}{{unix.S_ISUID, fs.ModeSetuid}, {unix.S_ISGID, fs.ModeSetgid}, {unix.S_ISVTX, fs.ModeSticky}} {
		if mode&bit.is != 0 {
			out |= bit.set
		}
	}
	switch mode & unix.S_IFMT {
	case unix.S_IFDIR:
		out |= fs.ModeDir
	case unix.S_IFLNK:
		out |= fs.ModeSymlink
	case unix.S_IFBLK:
		out |= fs.ModeDevice
	case unix.S_IFCHR:
		out |= fs.ModeDevice | fs.ModeCharDevice
	case unix.S_IFIFO:
		out |= fs.ModeNamedPipe
	case unix.S_IFSOCK:
		out |= fs.ModeSocket
	}
	return out
}
