package bench

import (
	"encoding/binary"
	"fmt"
	"net"
	"os"
	"time"

	"golang.org/x/sys/unix"

	"taproom/internal/host"
)

// request is a netlink message under construction.
type request []byte

// linkRequest begins one about a link.
func linkRequest(kind, flags uint16, index int, up uint32) request {
	r := make(request, unix.SizeofNlMsghdr+unix.SizeofIfInfomsg)
	binary.NativeEndian.PutUint16(r[4:], kind)
	binary.NativeEndian.PutUint16(r[6:], unix.NLM_F_REQUEST|flags)
	binary.NativeEndian.PutUint32(r[20:], uint32(index))
	binary.NativeEndian.PutUint32(r[24:], up)
	binary.NativeEndian.PutUint32(r[28:], up)
	return r
}

func (r request) attr(kind uint16, value []byte) request {
	r = binary.NativeEndian.AppendUint16(r, uint16(4+len(value)))
	r = binary.NativeEndian.AppendUint16(r, kind)
	r = append(r, value...)
	return append(r, make([]byte, (4-len(value)%4)%4)...)
}

func (r request) number(kind uint16, v uint32) request {
	return r.attr(kind, binary.NativeEndian.AppendUint32(nil, v))
}

// talk sends a request and reads its one answer: the acknowledgement, or the link that is echoed.
func (b *bareLinks) talk(r request) ([]byte, error) {
	b.calls++
	b.seq++
	binary.NativeEndian.PutUint32(r, uint32(len(r)))
	binary.NativeEndian.PutUint32(r[8:], b.seq)
	if err := unix.Sendto(b.fd, r, 0, &unix.SockaddrNetlink{Family: unix.AF_NETLINK}); err != nil {
		return nil, err
	}
	n, _, err := unix.Recvfrom(b.fd, b.buf, 0)
	if err != nil {
		return nil, err
	}
	m := b.buf[:n]
	if binary.NativeEndian.Uint16(m[4:]) == unix.NLMSG_ERROR {
		if errno := -int32(binary.NativeEndian.Uint32(m[16:])); errno != 0 {
			return nil, unix.Errno(errno)
		}
	}
	return m, nil
}

// link makes one: down, without IPv6, then up with its group, and with its label.
func (b *bareLinks) link(kind, name string, i int, m *madeLinks) (index int, f *os.File, err error) {
	flags := uint32(unix.IFF_UP)
	set := linkRequest
	if kind == "tap" {
		index, f, err = b.tap(name)
	} else {
		index, err = b.macvtap(name, i)
		if err == nil {
			began := time.Now()
			b.calls++
			var t *host.Tap
			if t, err = b.k.OpenMacvtap(name, index, 1); err == nil {
				f = t.Files[0]
			}
			m.open += time.Since(began)
		}
		flags |= unix.IFF_ALLMULTI
	}
	if err != nil {
		return index, f, err
	}
	b.calls++
	if err := os.WriteFile("/proc/sys/net/ipv6/conf/"+name+"/disable_ipv6", []byte("1"), 0); err != nil {
		return index, f, err
	}
	var requests []request
	if kind == "tap" {
		queue := linkRequest(unix.RTM_NEWQDISC, unix.NLM_F_CREATE|unix.NLM_F_REPLACE|unix.NLM_F_ACK, index, 0)
		binary.NativeEndian.PutUint32(queue[28:], 0xffffffff) // struct tcmsg: the parent is the root
		mac, err := net.ParseMAC(benchMAC("fe", i))
		if err != nil {
			return index, f, err
		}
		requests = []request{
			append(queue, make([]byte, 4)...).attr(unix.TCA_KIND, []byte("noqueue\x00")),
			set(unix.RTM_NEWLINK, unix.NLM_F_ACK, index, flags).attr(unix.IFLA_ADDRESS, mac).number(unix.IFLA_GROUP, namesGroup),
		}
	} else {
		requests = []request{set(unix.RTM_NEWLINK, unix.NLM_F_ACK, index, flags)}
	}
	requests = append(requests, set(unix.RTM_NEWLINK, unix.NLM_F_ACK, index, 0).attr(unix.IFLA_IFALIAS, []byte("taproom:bench")))
	for _, r := range requests {
		if _, err := b.talk(r); err != nil {
			return index, f, fmt.Errorf("set link %s: %w", name, err)
		}
	}
	return index, f, nil
}

func (b *bareLinks) macvtap(name string, i int) (int, error) {
	mac, err := net.ParseMAC(benchMAC("52", i))
	if err != nil {
		return 0, err
	}
	mode := request{}.number(1, uint32(host.MacvlanBridge)) // IFLA_MACVLAN_MODE
	info := request{}.attr(unix.IFLA_INFO_KIND, []byte("macvtap")).attr(unix.IFLA_INFO_DATA, mode)
	const flags = unix.NLM_F_CREATE | unix.NLM_F_EXCL | unix.NLM_F_ECHO
	m, err := b.talk(linkRequest(unix.RTM_NEWLINK, flags, 0, 0).attr(unix.IFLA_IFNAME, append([]byte(name), 0)).
		number(unix.IFLA_LINK, uint32(b.lower)).attr(unix.IFLA_ADDRESS, mac).number(unix.IFLA_GROUP, namesGroup).attr(unix.IFLA_LINKINFO, info))
	if err != nil {
		return 0, fmt.Errorf("make macvtap %s: %w", name, err)
	}
	return int(binary.NativeEndian.Uint32(m[20:])), nil
}

func (b *bareLinks) tap(name string) (int, *os.File, error) {
	b.calls++
	fd, err := unix.Open("/dev/net/tun", unix.O_RDWR|unix.O_CLOEXEC|unix.O_NONBLOCK, 0)
	if err != nil {
		return 0, nil, err
	}
	ifr, err := unix.NewIfreq(name)
	if err == nil {
		ifr.SetUint16(unix.IFF_TAP | unix.IFF_NO_PI | unix.IFF_VNET_HDR | unix.IFF_TUN_EXCL)
		err = unix.IoctlIfreq(fd, unix.TUNSETIFF, ifr)
	}
	if err != nil {
		unix.Close(fd)
		return 0, nil, fmt.Errorf("make tap %s: %w", name, err)
	}
	index, err := b.index(name)
	return index, os.NewFile(uintptr(fd), name), err
}

// remove moves the links into a group and removes that. If look is set the kernel is asked about each one first, for all
// but its counters.
func (b *bareLinks) remove(indexes []int, look bool) error {
	const leaving = namesGroup | 1<<27
	const skipStats = 1 << 3 // RTEXT_FILTER_SKIP_STATS
	for _, index := range indexes {
		if look {
			if _, err := b.talk(linkRequest(unix.RTM_GETLINK, 0, index, 0).number(unix.IFLA_EXT_MASK, skipStats)); err != nil {
				return err
			}
		}
		if _, err := b.talk(linkRequest(unix.RTM_NEWLINK, unix.NLM_F_ACK, index, 0).number(unix.IFLA_GROUP, leaving)); err != nil {
			return err
		}
	}
	_, err := b.talk(linkRequest(unix.RTM_DELLINK, unix.NLM_F_ACK, 0, 0).number(unix.IFLA_GROUP, leaving))
	return err
}
