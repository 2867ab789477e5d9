package inside

import (
	"testing"

	"golang.org/x/sys/unix"
)

func TestNodesThatLoadModulesAreRead(t *testing.T) {
	t.Parallel()
	type node struct {
		path   string
		mode   uint32
		device uint64
		ok     bool
	}
	for line, want := range map[string]node{
		"dm_mod mapper/control c10:236": {"mapper/control", unix.S_IFCHR | 0o600, unix.Mkdev(10, 236), true},
		"loop loop0 b7:0\n":             {"loop0", unix.S_IFBLK | 0o600, unix.Mkdev(7, 0), true},
		"# Device nodes to":             {},
		"evil ../etc/passwd c1:3":       {},
		"fuse fuse x10:229":             {},
		"fuse fuse c10":                 {},
		"":                              {},
	} {
		path, mode, device, ok := parseNode(line)
		if got := (node{path, mode, device, ok}); got != want {
			t.Errorf("%q: %+v, want %+v", line, got, want)
		}
	}
}
