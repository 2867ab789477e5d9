package host_test

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"taproom/internal/host"
)

func TestOnlyATerminalIsOpenedAndOnlyItsUsers(t *testing.T) {
	t.Parallel()
	k := host.New(host.Options{})
	ptmx, err := os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0)
	must(t, err)
	defer ptmx.Close()
	n, err := unix.IoctlGetInt(int(ptmx.Fd()), unix.TIOCGPTN)
	must(t, err)
	must(t, unix.IoctlSetPointerInt(int(ptmx.Fd()), unix.TIOCSPTLCK, 0))
	path, uid := fmt.Sprintf("/dev/pts/%d", n), uint32(os.Getuid())

	f, err := k.OpenTerminal(path, uid)
	must(t, err)
	if _, err := f.WriteString("x"); err != nil {
		t.Error(err)
	}
	b := make([]byte, 1)
	if _, err := ptmx.Read(b); err != nil || b[0] != 'x' {
		t.Errorf("at the other end: %q, %v", b, err)
	}
	must(t, f.Close())
	for path, c := range map[string]struct {
		uid  uint32
		says string
	}{
		path:                 {uid + 1, "it is a terminal of user"},
		"/dev/pts/ptmx":      {uid, "it is no pseudo-terminal"},
		"/dev/pts/../null":   {uid, "it is no pseudo-terminal"},
		"/dev/null":          {uid, "it is no pseudo-terminal"},
		"/etc/passwd":        {uid, "it is no pseudo-terminal"},
		"":                   {uid, "it is no pseudo-terminal"},
		"/dev/pts/":          {uid, "it is no pseudo-terminal"},
		"/dev/pts/999999999": {uid, "no such file"},
	} {
		if f, err := k.OpenTerminal(path, c.uid); err == nil || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%q as %d: got %v, %v; want %q", path, c.uid, f, err, c.says)
		}
	}
}
