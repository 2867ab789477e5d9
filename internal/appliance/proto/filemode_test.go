package proto

import (
	"io/fs"
	"testing"
)

func TestModesOfFilesAreGos(t *testing.T) {
	t.Parallel()
	for mode, want := range map[uint32]string{
		0o100644: "-rw-r--r--", 0o040755: "drwxr-xr-x", 0o120777: "Lrwxrwxrwx", 0o060660: "Drw-rw----", 0o020666: "Dcrw-rw-rw-",
		0o010600: "prw-------", 0o140755: "Srwxr-xr-x", 0o104755: "urwxr-xr-x", 0o102755: "grwxr-xr-x", 0o041777: "dtrwxrwxrwx",
	} {
		if got := (&Stat{Mode: mode}).FileMode(); got.String() != want || got.Perm() != fs.FileMode(mode&0o777) {
			t.Errorf("%o is %v, want %s", mode, got, want)
		}
	}
}
