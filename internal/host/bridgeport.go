package host

import (
	"github.com/vishvananda/netlink/nl"
	"golang.org/x/sys/unix"
)

// SetIsolated says of a port of a bridge whether it is kept apart from the bridge's other isolated ports. A port that leaves
// its bridge forgets it.
func (k *Kernel) SetIsolated(index int, isolated bool) error {
	info := nl.NewRtAttr(unix.IFLA_LINKINFO, nil)
	info.AddRtAttr(unix.IFLA_INFO_SLAVE_KIND, nl.NonZeroTerminated("bridge"))
	on := byte(0)
	if isolated {
		on = 1
	}
	info.AddRtAttr(unix.IFLA_INFO_SLAVE_DATA, nil).AddRtAttr(nl.IFLA_BRPORT_ISOLATED, nl.Uint8Attr(on))
	return k.change("bridge port set", index, linkHeader(index), info)
}

func parseBridgePort(l *Link, data []byte) error {
	return attrs(data, func(kind uint16, value []byte) error {
		if len(value) != 1 {
			return nil
		}
		switch kind {
		case nl.IFLA_BRPORT_ISOLATED:
			l.Isolated = value[0] != 0
		case nl.IFLA_BRPORT_LEARNING:
			l.NoLearning = value[0] == 0
		case nl.IFLA_BRPORT_UNICAST_FLOOD:
			l.NoFlood = value[0] == 0
		}
		return nil
	})
}
