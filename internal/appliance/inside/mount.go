package inside

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"path"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"taproom/internal/appliance/proto"
	"taproom/internal/appliance/superblock"
)

// mount mounts a device in the tree.
func (s *system) mount(ctx context.Context, r *proto.Call) (proto.Message, error) {
	var m proto.Mount
	if err := r.Args(&m); err != nil {
		return nil, err
	}
	device, err := openMountable(ctx, m.Device, &m.Type)
	if err != nil {
		return nil, err
	}
	defer device.Close()
	at, err := s.tree.mountPoint(m.At)
	if err != nil {
		return nil, fmt.Errorf("mount at %s: %w", m.At, err)
	}
	defer at.Close()
	options := mountOptions(m)
	flags := uintptr(unix.MS_NODEV | unix.MS_NOSUID | unix.MS_NOATIME)
	if m.ReadOnly {
		flags |= unix.MS_RDONLY
	}
	if err := unix.Mount(device.Name(), procPath(at), m.Type, flags, options); err != nil {
		return nil, fmt.Errorf("mount it as %s, options %q: %w", m.Type, options, err)
	}
	return &proto.Mounted{Device: path.Base(device.Name()), At: clean(m.At), Type: m.Type, Options: options}, nil
}

// openMountable opens a device, and finds the type of its file system where kind has none.
func openMountable(ctx context.Context, name string, kind *string) (*os.File, error) {
	device, err := hostDisks().open(ctx, name)
	if err != nil || *kind != "" {
		return device, err
	}
	if *kind, err = mountable(device); err != nil {
		_ = device.Close()
		return nil, err
	}
	return device, nil
}

// mountable is the type of file system on a device.
func mountable(device *os.File) (string, error) {
	size, err := device.Seek(0, 2)
	if err != nil {
		return "", err
	}
	c, err := superblock.Probe(device, size)
	switch {
	case err != nil:
		return "", err
	case c.Type == "":
		return "", fmt.Errorf("no file system is known on it; name its type: %w", unix.EINVAL)
	case !c.Mountable():
		return "", fmt.Errorf("it holds no file system, but %s: %w", c.Type, unix.EINVAL)
	}
	return c.Type, nil
}

// mountOptions are a file system's own options. One that is mounted read-only must not replay its journal: that writes to the
// device, or fails where the device cannot be written to.
func mountOptions(m proto.Mount) string {
	var options []string
	if m.Options != "" {
		options = strings.Split(m.Options, ",")
	}
	noReplay := map[string]string{"ext3": "noload", "ext4": "noload", "xfs": "norecovery", "btrfs": "rescue=nologreplay"}[m.Type]
	if m.ReadOnly && noReplay != "" && !slices.Contains(options, noReplay) {
		options = append(options, noReplay)
	}
	return strings.Join(options, ",")
}

// mountPoint opens a folder to mount at. Where nothing is mounted yet it is made, and the folders above it.
func (t tree) mountPoint(name string) (*os.File, error) {
	at, err := t.find(name, true)
	if !errors.Is(err, unix.ENOENT) {
		return at, err
	}
	var s unix.Statfs_t
	if err := unix.Statfs(t.root, &s); err != nil || s.Type != unix.TMPFS_MAGIC {
		return nil, unix.ENOENT
	}
	dir, err := t.find("/", true)
	if err != nil {
		return nil, err
	}
	for _, part := range strings.Split(strings.Trim(clean(name), "/"), "/") {
		if err := unix.Mkdirat(int(dir.Fd()), part, 0o755); err != nil && !errors.Is(err, unix.EEXIST) {
			_ = dir.Close()
			return nil, err
		}
		next, err := openAt(int(dir.Fd()), part, unix.O_PATH|unix.O_NOFOLLOW, 0)
		_ = dir.Close()
		if err != nil {
			return nil, err
		}
		dir = next
	}
	return dir, nil
}

// clean is a path as the tree's root sees it.
func clean(name string) string { return path.Clean("/" + name) }

// unmount unmounts what is mounted last at a path.
func (s *system) unmount(_ context.Context, r *proto.Call) (proto.Message, error) {
	var p proto.Path
	if err := r.Args(&p); err != nil {
		return nil, err
	}
	return nil, s.tree.unmount(p.Path)
}

func (t tree) unmount(name string) error {
	list, err := t.mounted()
	if err != nil {
		return err
	}
	if !slices.ContainsFunc(list, func(m proto.Mounted) bool { return m.At == clean(name) }) {
		return fmt.Errorf("nothing is mounted at %s: %w", clean(name), unix.EINVAL)
	}
	at, err := t.find(name, false)
	if err != nil {
		return err
	}
	// An open file keeps its mount busy: the kernel is given the path that it leads to, which no link in an image can
	// have a part in any more.
	where, err := os.Readlink(procPath(at))
	_ = at.Close()
	if err != nil {
		return err
	}
	if err := unix.Unmount(where, unix.UMOUNT_NOFOLLOW); err != nil {
		return err
	}
	return nil
}

// mounts lists what is mounted in the tree.
func (s *system) mounts(context.Context, *proto.Call) (proto.Message, error) {
	list, err := s.tree.mounted()
	return &proto.Mounts{List: list}, err
}

// mounted reads what is mounted in the tree, in the order in which it was.
func (t tree) mounted() ([]proto.Mounted, error) {
	f, err := os.Open("/proc/self/mounts")
	if err != nil {
		return nil, err
	}
	defer f.Close()
	var list []proto.Mounted
	lines := bufio.NewScanner(f)
	for lines.Scan() {
		if m, ok := t.parseMount(lines.Text()); ok {
			list = append(list, m)
		}
	}
	return list, lines.Err()
}

// parseMount reads a line of /proc/self/mounts. The tree itself, empty, is none.
func (t tree) parseMount(line string) (proto.Mounted, bool) {
	f := strings.Fields(line)
	if len(f) < 4 {
		return proto.Mounted{}, false
	}
	at := unescape(f[1])
	below, ok := strings.CutPrefix(at, t.root)
	if !ok || (below != "" && below[0] != '/') || f[2] == "tmpfs" {
		return proto.Mounted{}, false
	}
	return proto.Mounted{Device: path.Base(unescape(f[0])), At: clean(below), Type: f[2], Options: f[3]}, true
}

// unescape undoes what the kernel does to space, tab, newline and backslash in such lines.
func unescape(s string) string {
	return strings.NewReplacer(`\040`, " ", `\011`, "\t", `\012`, "\n", `\134`, `\`, `\043`, "#").Replace(s)
}

// shutdown ends all programs, unmounts everything, the last first, and has the machine reset when the host was answered.
func (s *system) shutdown(_ context.Context, r *proto.Call) (proto.Message, error) {
	s.children.endAll() // a daemon may hold a mount
	if err := s.tree.sync(); err != nil {
		return nil, err
	}
	list, err := s.tree.mounted()
	if err != nil {
		return nil, err
	}
	for _, m := range slices.Backward(list) {
		if err := s.tree.unmount(m.At); err != nil {
			return nil, fmt.Errorf("unmount %s from %s: %w", m.Device, m.At, err)
		}
	}
	r.After(restart)
	return nil, nil
}
