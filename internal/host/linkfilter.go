package host

import (
	"errors"
	"fmt"
	"net"
	"slices"

	"github.com/vishvananda/netlink/nl"
	"golang.org/x/sys/unix"
)

// Hears lists the addresses beside its own that a link takes frames for, in lower case, sorted: groups that somebody on this
// host joined, and what AddHears added. Each kernel has a link join 33:33:00:00:00:01 and 01:00:5e:00:00:01 by itself. A link that is
// not there has none. ErrPartial when the listing was interrupted.
func (k *Kernel) Hears(index int) ([]string, error) {
	k.Step("link addresses list")
	msgs, err := k.get(unix.RTM_GETNEIGH, unix.NLM_F_DUMP, unix.RTM_NEWNEIGH, &fdbHeader{index: index})
	if err != nil && !errors.Is(err, ErrPartial) {
		return nil, fmt.Errorf("list the addresses that link %d takes frames for: %w", index, err)
	}
	var out []string
	for _, m := range msgs {
		mac, perr := parseHeard(m, index)
		if perr != nil {
			return nil, fmt.Errorf("list the addresses that link %d takes frames for: %w", index, perr)
		}
		if mac != "" {
			out = append(out, mac)
		}
	}
	slices.Sort(out)
	return slices.Compact(out), err
}

// parseHeard reads an entry of a link's own; "" for one of a bridge's, or another link's.
func parseHeard(m []byte, index int) (mac string, err error) {
	h, rest, err := parseFDBHeader(m)
	if err != nil || h.index != index || h.flags&unix.NTF_SELF == 0 || h.state != unix.NUD_PERMANENT {
		return "", err
	}
	err = attrs(rest, func(kind uint16, value []byte) error {
		if kind == unix.NDA_LLADDR {
			mac = net.HardwareAddr(value).String()
		}
		return nil
	})
	return mac, err
}

// AddHears has a link take frames for one more address. One that it takes them for already is no error. A macvtap takes none
// for a second address of its own kind, that of one machine, unless it is in mode passthrough.
func (k *Kernel) AddHears(index int, mac string) error {
	err := k.hears("link addresses add", unix.RTM_NEWNEIGH, unix.NLM_F_CREATE, index, mac)
	if errors.Is(err, unix.EEXIST) {
		return nil
	}
	return err
}

// DelHears takes that back. One that is not there is no error.
func (k *Kernel) DelHears(index int, mac string) error {
	err := k.hears("link addresses delete", unix.RTM_DELNEIGH, 0, index, mac)
	if errors.Is(err, unix.ENOENT) {
		return nil
	}
	return err
}

func (k *Kernel) hears(step string, kind, flags, index int, mac string) error {
	hw, err := net.ParseMAC(mac)
	if err != nil {
		return fmt.Errorf("%s: link %d: %w", step, index, err)
	}
	k.Step(step)
	h := &fdbHeader{index: index, state: unix.NUD_PERMANENT, flags: unix.NTF_SELF}
	return changeError(step, index, k.do(kind, flags, h, nl.NewRtAttr(unix.NDA_LLADDR, hw)))
}

// SetReceive has a link take every frame, or every one for a group, or no longer.
func (k *Kernel) SetReceive(index int, promiscuous, allMulticast bool) error {
	h := linkHeader(index)
	h.Change = unix.IFF_PROMISC | unix.IFF_ALLMULTI
	if promiscuous {
		h.Flags |= unix.IFF_PROMISC
	}
	if allMulticast {
		h.Flags |= unix.IFF_ALLMULTI
	}
	return k.change("link receive", index, h)
}
