package host

import (
	"github.com/vishvananda/netlink/nl"
	"golang.org/x/sys/unix"
)

// LinkState is what the kernel makes of a link by itself, some time after what was asked of it.
type LinkState struct {
	Carrier  bool // it is up, and something is at its other end
	Sends    bool // its queue has been set up, which the kernel does a little after the carrier came for the first time
	Forwards bool // a port of a bridge that lets frames pass: not one that STP holds back
}

// LinkState reads it; ErrNoLink when there is no such link.
func (k *Kernel) LinkState(index int) (LinkState, error) {
	var s LinkState
	if _, err := k.LinkByIndex(index); err != nil {
		return s, err
	}
	k.Step("link get")
	msgs, err := k.linkMessages(index, 0)
	if err != nil {
		return s, err
	}
	for _, m := range msgs {
		if len(m) < unix.SizeofIfInfomsg {
			continue
		}
		s.Carrier = nl.DeserializeIfInfomsg(m).Flags&unix.IFF_LOWER_UP != 0
		err = attrs(m[unix.SizeofIfInfomsg:], func(kind uint16, value []byte) error {
			if kind == unix.IFLA_QDISC {
				s.Sends = s.Carrier && unix.ByteSliceToString(value) != "noop"
			}
			if kind != unix.IFLA_LINKINFO {
				return nil
			}
			return attrs(value, func(kind uint16, value []byte) error {
				if kind != unix.IFLA_INFO_SLAVE_DATA {
					return nil
				}
				return attrs(value, func(kind uint16, value []byte) error {
					if kind == nl.IFLA_BRPORT_STATE && len(value) == 1 {
						s.Forwards = value[0] == 3 // BR_STATE_FORWARDING
					}
					return nil
				})
			})
		})
	}
	return s, err
}
