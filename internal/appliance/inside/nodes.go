package inside

import (
	"fmt"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"

	"taproom/internal/appliance/pid1"
)

// makeNodes makes the device nodes whose opening loads a module, from a list as depmod writes it. A kernel without modules has
// none, and needs none. A node that cannot be made is missed by what needs it, which says so.
func makeNodes() {
	for line := range strings.Lines(pid1.ReadText(filepath.Join(pid1.ModuleDir, "modules.devname"))) {
		path, mode, device, ok := parseNode(line)
		if ok {
			path = filepath.Join("/dev", path)
			_ = unix.Mkdir(filepath.Dir(path), 0o755) // mostly there
			_ = unix.Mknod(path, mode, int(device))
		}
	}
}

// parseNode reads "dm_mod mapper/control c10:236".
func parseNode(line string) (path string, mode uint32, device uint64, ok bool) {
	f := strings.Fields(line)
	if len(f) != 3 || f[0] == "#" || !filepath.IsLocal(f[1]) {
		return "", 0, 0, false
	}
	var kind rune
	var major, minor uint32
	if n, err := fmt.Sscanf(f[2], "%c%d:%d", &kind, &major, &minor); err != nil || n != 3 {
		return "", 0, 0, false
	}
	switch kind {
	case 'b':
		mode = unix.S_IFBLK | 0o600
	case 'c':
		mode = unix.S_IFCHR | 0o600
	default:
		return "", 0, 0, false
	}
	return f[1], mode, unix.Mkdev(major, minor), true
}
