package helper

import (
	"errors"
	"fmt"
	"net/netip"
	"os"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"taproom/internal/host"
)

// Descriptors are named for what they are and what they are bound to. A network that changes keeps those whose names stay,
// so that no question that waits in one is lost, and only the others are made.
const (
	// DescLeases is the lease file: "leases DEVICE:INODE".
	DescLeases = "leases"
	// DescFrames is the packet socket: "frames INDEX".
	DescFrames = "frames"
	// DescHold is a UDP socket that nobody reads: "hold PORT ADDRESS INDEX".
	DescHold = "hold"
	// DescDNS is a socket of DNS: "dns udp ADDRESS INDEX", or tcp.
	DescDNS = "dns"
	// DescTFTP is a socket of TFTP: "tftp ADDRESS INDEX".
	DescTFTP = "tftp"
	// DescFolder is the folder that TFTP serves: "folder DEVICE:INODE".
	DescFolder = "folder"
	// DescForward is a socket at the host's loopback: "forward tcp ADDRESS:PORT INDEX", or udp.
	DescForward = "forward"
)

// descriptor is one that a network needs.
type descriptor struct {
	name string
	open func() (*os.File, error) // nil and no error: does without
}

// descriptors lists what a network needs on the link with an index, beside its lease file.
func descriptors(k *host.Kernel, n Network, index int) ([]descriptor, error) {
	var all []descriptor
	add := func(open func() (*os.File, error), format string, a ...any) {
		all = append(all, descriptor{fmt.Sprintf(format, a...), open})
	}
	six := n.DHCP6 != nil || n.RA != nil
	if n.DHCP4 != nil || six {
		add(func() (*os.File, error) { return OpenFrames(k, index) }, "%s %d", DescFrames, index)
	}
	if n.DHCP4 != nil {
		at := netip.IPv4Unspecified() // for several
		if len(n.DHCP4.Subnets) == 1 {
			at = n.DHCP4.Subnets[0].Server
		}
		add(func() (*os.File, error) { return holdPort4(k, n.Bridge, at) }, "%s 67 %s %d", DescHold, at, index)
	}
	if six {
		add(func() (*os.File, error) { return holdPort6(k, n.Bridge, n.LinkLocal, index) }, "%s 547 %s %d", DescHold, n.LinkLocal, index)
	}
	if n.DNS != nil {
		for _, a := range n.DNS.Addresses {
			for _, proto := range []string{"udp", "tcp"} {
				at := netip.AddrPortFrom(a, 53)
				add(func() (*os.File, error) { return openService(k, proto, at, index, true) }, "%s %s %s %d", DescDNS, proto, a, index)
			}
		}
	}
	if n.TFTP != nil {
		for _, a := range n.TFTP.Addresses {
			at := netip.AddrPortFrom(a, 69)
			add(func() (*os.File, error) { return openService(k, "udp", at, index, false) }, "%s %s %d", DescTFTP, a, index)
		}
		dir, err := k.OpenFile(n.TFTP.Root, unix.O_PATH|unix.O_DIRECTORY, 0)
		if err != nil {
			return nil, fmt.Errorf("open the TFTP folder %s: %w; make it, or name another one in <tftp root>", n.TFTP.Root, err)
		}
		defer dir.Close()
		id, err := identity(dir)
		if err != nil {
			return nil, err
		}
		add(func() (*os.File, error) { return openFolder(k, n.TFTP.Root) }, "%s %s", DescFolder, id)
	}
	for _, f := range n.Forwards {
		add(func() (*os.File, error) { return openForward(k, f) }, "%s", f.descriptor(index))
	}
	return all, nil
}

// identity returns what tells a file from all others that there are now.
func identity(f *os.File) (string, error) {
	var st unix.Stat_t
	if err := unix.Fstat(int(f.Fd()), &st); err != nil {
		return "", fmt.Errorf("look at %s: %w", f.Name(), err)
	}
	return fmt.Sprintf("%d:%d", st.Dev, st.Ino), nil
}

// openFolder returns a folder as a mount of its own that is in no place: whoever has it gets to nothing above it.
func openFolder(k *host.Kernel, path string) (*os.File, error) {
	k.Step("folder clone")
	fd, err := unix.OpenTree(unix.AT_FDCWD, path, unix.OPEN_TREE_CLONE|unix.OPEN_TREE_CLOEXEC|unix.AT_RECURSIVE)
	if err != nil {
		return nil, fmt.Errorf("take the TFTP folder %s out of the file system: %w", path, err)
	}
	return os.NewFile(uintptr(fd), path), nil
}

// ParseDescriptor splits a name into its kind and the rest.
func ParseDescriptor(name string) (kind string, rest []string) {
	fields := strings.Fields(name)
	if len(fields) == 0 {
		return "", nil
	}
	return fields[0], fields[1:]
}

// openAll opens descriptors that are not had yet, or takes them from those of a process before. It returns the names of
// what is kept, and names and files of what is new.
func openAll(want []descriptor, has []string, taken map[string]*os.File) (keep, names []string, files []*os.File, err error) {
	for _, d := range want {
		if slices.Contains(has, d.name) {
			keep = append(keep, d.name)
			continue
		}
		f := taken[d.name]
		if f != nil {
			delete(taken, d.name)
		} else if f, err = d.open(); err != nil {
			return nil, nil, nil, errors.Join(err, closeFiles(files))
		}
		if f != nil {
			names, files = append(names, d.name), append(files, f)
		}
	}
	return keep, names, files, nil
}

func closeFiles(files []*os.File) error {
	var err error
	for _, f := range files {
		err = errors.Join(err, f.Close())
	}
	return err
}
