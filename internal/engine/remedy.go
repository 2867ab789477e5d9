package engine

import (
	"errors"

	"golang.org/x/sys/unix"
)

// remedy is what an administrator can do about something that the whole machine lacks; "" for everything else.
func remedy(err error) string {
	for _, r := range []struct {
		errno  unix.Errno
		remedy string
	}{
		{unix.EMFILE, "; raise the limit of open files of taproomd (LimitNOFILE)"},
		{unix.ENFILE, "; raise the machine's limit of open files (fs.file-max)"},
		{unix.ENOSPC, "; make room on that file system"},
		{unix.EDQUOT, "; make room on that file system, or raise its quota"},
		{unix.EROFS, "; mount that file system writable"},
		{unix.ENOMEM, "; free some memory"},
	} {
		if errors.Is(err, r.errno) {
			return r.remedy
		}
	}
	return ""
}
