package host

import (
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/vishvananda/netlink/nl"
	"golang.org/x/sys/unix"
)

// LinkStats are a link's counters, seen from the host: what a guest receives from its tap is Tx.
type LinkStats struct {
	RxPackets, TxPackets, RxBytes, TxBytes   uint64
	RxErrors, TxErrors, RxDropped, TxDropped uint64
}

// LinkStats reads the counters of the link of that name.
func (k *Kernel) LinkStats(name string) (LinkStats, error) {
	k.Step("link stats")
	msgs, err := k.get(unix.RTM_GETLINK, 0, unix.RTM_NEWLINK, linkHeader(0),
		nl.NewRtAttr(unix.IFLA_IFNAME, nl.ZeroTerminated(name)))
	if errors.Is(err, unix.ENODEV) {
		return LinkStats{}, fmt.Errorf("link %s: %w", name, ErrNoLink)
	}
	if err != nil || len(msgs) != 1 {
		return LinkStats{}, fmt.Errorf("read the counters of link %s: %d answers, %w", name, len(msgs), err)
	}
	found, err := attrMap(msgs[0][unix.SizeofIfInfomsg:])
	if err != nil {
		return LinkStats{}, err
	}
	b := found[unix.IFLA_STATS64]
	if len(b) < 64 {
		return LinkStats{}, fmt.Errorf("read the counters of link %s: none in the answer", name)
	}
	n := func(i int) uint64 { return binary.NativeEndian.Uint64(b[8*i:]) }
	return LinkStats{
		RxPackets: n(0), TxPackets: n(1), RxBytes: n(2), TxBytes: n(3),
		RxErrors: n(4), TxErrors: n(5), RxDropped: n(6), TxDropped: n(7),
	}, nil
}
