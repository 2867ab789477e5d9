package bench

import (
	"errors"
	"fmt"
	"net"
	"os"

	"golang.org/x/sys/unix"

	"taproom/internal/host"
)

// bareLinks makes links by the calls into the kernel that taproom makes, and nothing else: no allocator, no plan.
type bareLinks struct {
	k     *host.Kernel // opens macvtaps
	lower int
	fd    int
	seq   uint32
	count int // the counter of the second algorithm
	calls int64
	buf   []byte
}

func (b *bareLinks) open() (err error) {
	b.buf = make([]byte, 32<<10)
	b.fd, err = unix.Socket(unix.AF_NETLINK, unix.SOCK_RAW|unix.SOCK_CLOEXEC, unix.NETLINK_ROUTE)
	if err == nil {
		err = unix.Bind(b.fd, &unix.SockaddrNetlink{Family: unix.AF_NETLINK})
	}
	return err
}

func (b *bareLinks) close() { unix.Close(b.fd) }

// next is the name of a loop that knows that none is taken.
func (b *bareLinks) next(prefix string, i int) (string, error) { return fmt.Sprint(prefix, i), nil }

// probed looks from zero for a name that no link has.
func (b *bareLinks) probed(prefix string, _ int) (string, error) { return b.free(prefix, 0) }

// counted looks from where it found the last.
func (b *bareLinks) counted(prefix string, _ int) (string, error) {
	name, err := b.free(prefix, b.count)
	b.count++
	return name, err
}

func (b *bareLinks) free(prefix string, from int) (string, error) {
	for i := from; ; i++ {
		name := fmt.Sprint(prefix, i)
		_, err := b.index(name)
		if errors.Is(err, unix.ENODEV) {
			return name, nil
		}
		if err != nil {
			return "", err
		}
	}
}

func (b *bareLinks) index(name string) (int, error) {
	b.calls++
	ifr, err := unix.NewIfreq(name)
	if err == nil {
		err = unix.IoctlIfreq(b.fd, unix.SIOCGIFINDEX, ifr)
	}
	if err != nil {
		return 0, err
	}
	return int(ifr.Uint32()), nil
}

func linkIndex(name string) (int, error) {
	i, err := net.InterfaceByName(name)
	if err != nil {
		return 0, err
	}
	return i.Index, nil
}

// links returns what makes links with the names that name finds, and removes them after a look at each, as whoever must
// not remove somebody else's has to, or without.
func (b *bareLinks) links(name func(prefix string, i int) (string, error), look bool) func(kind string, n int) (*madeLinks, error) {
	return func(kind string, n int) (*madeLinks, error) {
		b.count, b.calls = 0, 0
		m := &madeLinks{}
		var indexes []int
		var files []*os.File
		m.remove = func() error { return errors.Join(b.remove(indexes, look), closeAll(files)) }
		for i := range n {
			link, err := name("bare", i)
			if err == nil {
				var index int
				var f *os.File
				if index, f, err = b.link(kind, link, i, m); index != 0 {
					indexes = append(indexes, index)
				}
				if f != nil {
					files = append(files, f)
				}
			}
			if err != nil {
				return nil, errors.Join(err, m.remove())
			}
		}
		m.calls = b.calls
		return m, nil
	}
}
