package bench

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"

	"golang.org/x/sys/unix"

	"taproom/internal/appliance/proto"
)

// inspected is what an image says of itself.
type inspected struct {
	system   string // PRETTY_NAME of os-release
	hostname string
	packages int // that are installed
	use      []usage
}

// usage is a line of df.
type usage struct {
	device, at  string
	size, avail uint64 // bytes
}

// mostRead bounds what is read of one file of an image: a package database has a few MiB.
const mostRead = 64 << 20

// look inspects what is on a disk of an appliance: it finds the system's root, mounts what its fstab says, reads who it is and what is
// installed, and how full each file system is.
func look(ctx context.Context, a *proto.Client, disk string) (*inspected, error) {
	all, err := a.Devices(ctx, proto.Probe{Contents: true})
	if err != nil {
		return nil, err
	}
	devices := all[:0:0]
	for _, d := range all {
		if (d.Name == disk || d.Parent == disk) && d.Type != "" {
			devices = append(devices, d)
		}
	}
	root, fstab, err := findRoot(ctx, a, devices)
	if err != nil {
		return nil, err
	}
	i := &inspected{}
	at := map[string]string{"/": root}
	for where, device := range mountsOf(fstab, devices) {
		if device == root {
			continue
		}
		if _, err := a.Mount(ctx, proto.Mount{Device: device, At: where}); err != nil {
			return nil, err
		}
		at[where] = device
	}
	for where, device := range at {
		s, err := a.Statfs(ctx, where)
		if err != nil {
			return nil, err
		}
		i.use = append(i.use, usage{device: device, at: where, size: s.Blocks * uint64(s.BlockSize), avail: s.Available * uint64(s.BlockSize)})
	}
	return i, i.read(ctx, a)
}

// findRoot mounts one file system after the other until one has a system on it, which stays mounted, and returns its fstab.
func findRoot(ctx context.Context, a *proto.Client, devices []proto.Device) (device string, fstab []byte, err error) {
	for _, d := range devices {
		if _, err := a.Mount(ctx, proto.Mount{Device: d.Name, At: "/"}); err != nil {
			if ctx.Err() != nil || a.Ping(ctx) != nil {
				return "", nil, err
			}
			continue // it is swap, or nothing that can be mounted
		}
		fstab, err := readFile(ctx, a, "/etc/fstab")
		if err == nil {
			return d.Name, fstab, nil
		}
		if !errors.Is(err, unix.ENOENT) {
			return "", nil, err
		}
		if err := a.Unmount(ctx, "/"); err != nil {
			return "", nil, err
		}
	}
	return "", nil, fmt.Errorf("no system was found on %d file systems", len(devices))
}

// mountsOf are the devices of an fstab that are there, by where they are mounted.
func mountsOf(fstab []byte, devices []proto.Device) map[string]string {
	at := map[string]string{}
	for line := range strings.Lines(string(fstab)) {
		f := strings.Fields(line)
		if len(f) < 2 || strings.HasPrefix(f[0], "#") || !strings.HasPrefix(f[1], "/") || f[1] == "/" {
			continue
		}
		for _, d := range devices {
			if f[0] == "UUID="+d.UUID || f[0] == "LABEL="+d.Label && d.Label != "" {
				at[f[1]] = d.Name
			}
		}
	}
	return at
}

// read reads who a system is, and what is installed.
func (i *inspected) read(ctx context.Context, a *proto.Client) error {
	release, err := readFile(ctx, a, "/etc/os-release")
	if err != nil {
		return err
	}
	for line := range strings.Lines(string(release)) {
		if v, ok := strings.CutPrefix(strings.TrimSpace(line), "PRETTY_NAME="); ok {
			i.system = strings.Trim(v, `"'`)
		}
	}
	hostname, err := readFile(ctx, a, "/etc/hostname")
	if err != nil && !errors.Is(err, unix.ENOENT) {
		return err
	}
	i.hostname = strings.TrimSpace(string(hostname))
	status, err := readFile(ctx, a, "/var/lib/dpkg/status")
	if err != nil && !errors.Is(err, unix.ENOENT) {
		return err
	}
	lines := bufio.NewScanner(bytes.NewReader(status))
	lines.Buffer(nil, mostRead)
	for lines.Scan() {
		if strings.HasPrefix(lines.Text(), "Status:") && strings.HasSuffix(lines.Text(), " installed") {
			i.packages++
		}
	}
	return lines.Err()
}

// readFile reads a small file of an appliance's tree.
func readFile(ctx context.Context, a *proto.Client, path string) ([]byte, error) {
	var b bytes.Buffer
	err := a.Read(ctx, proto.Read{Path: path, Length: mostRead}, &b)
	return b.Bytes(), err
}
