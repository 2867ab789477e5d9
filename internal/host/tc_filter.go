package host

import (
	"cmp"
	"encoding/binary"
	"fmt"
	"net"

	"github.com/vishvananda/netlink"
	"github.com/vishvananda/netlink/nl"
	"golang.org/x/sys/unix"
)

// Attributes of a filter of kind u32, and of the action mirred (include/uapi/linux/pkt_cls.h, tc_act/tc_mirred.h).
const (
	tcaU32ClassID = 1
	tcaU32Sel     = 5
	tcaU32Act     = 7

	tcaActKind     = 1
	tcaActOptions  = 2
	tcaMirredParms = 2

	mirredEgressRedirect = 1
	actStolen            = 4 // TC_ACT_STOLEN: the frame goes there and nowhere else
	selTerminal          = 1
)

// u32Key compares four bytes, counted from the header behind that of Ethernet, with a value.
type u32Key struct {
	mask, value uint32
	at          int32
}

// selector is struct tc_u32_sel with its keys.
func selector(keys ...u32Key) []byte {
	b := make([]byte, 16)
	b[0], b[2] = selTerminal, byte(len(keys))
	for _, k := range keys {
		b = binary.BigEndian.AppendUint32(b, k.mask)
		b = binary.BigEndian.AppendUint32(b, k.value)
		b = binary.NativeEndian.AppendUint32(b, uint32(k.at))
		b = append(b, 0, 0, 0, 0)
	}
	return b
}

// filterInfo is a filter's preference, and that it looks at frames of every protocol.
func filterInfo(pref uint16) uint32 {
	return uint32(pref)<<16 | uint32(binary.BigEndian.Uint16(binary.NativeEndian.AppendUint16(nil, unix.ETH_P_ALL)))
}

// Redirect has everything that comes in through a link take another one's queue first: it leaves through that link, an ifb, and
// then goes on as if nothing had been. What somebody hung beside it stays.
func (p *Pipeline) Redirect(index, through int, done func(error)) {
	var first error
	h := tcHeader(index, netlink.MakeHandle(0xffff, 0), netlink.HANDLE_CLSACT)
	p.tc("qdisc set", unix.RTM_NEWQDISC, unix.NLM_F_CREATE, h, without("clsact", "CONFIG_NET_SCH_INGRESS", func(err error) { first = err }), kindOf("clsact"))

	mirred := append(words(0, 0, actStolen, 0, 0), words(mirredEgressRedirect, uint32(through))...)
	o := nl.NewRtAttr(unix.TCA_OPTIONS, nil)
	o.AddRtAttr(tcaU32Sel, selector(u32Key{}))
	one := o.AddRtAttr(tcaU32Act, nil).AddRtAttr(1, nil)
	one.AddRtAttr(tcaActKind, nl.ZeroTerminated("mirred"))
	one.AddRtAttr(tcaActOptions, nil).AddRtAttr(tcaMirredParms, mirred)
	f := tcHeader(index, 0, netlink.HANDLE_MIN_INGRESS)
	f.Info = filterInfo(RedirectPref)
	p.tc("filter set", unix.RTM_NEWTFILTER, unix.NLM_F_CREATE|unix.NLM_F_EXCL, f, without("u32 or mirred", "CONFIG_NET_CLS_U32 and CONFIG_NET_ACT_MIRRED", func(err error) { done(cmp.Or(first, err)) }), kindOf("u32"), o)
}

// DelRedirect has what comes in through a link go its own way again. What waits in the other link's queue still comes.
func (p *Pipeline) DelRedirect(index int, done func(error)) {
	f := tcHeader(index, 0, netlink.HANDLE_MIN_INGRESS)
	f.Info = filterInfo(RedirectPref)
	p.tc("filter delete", unix.RTM_DELTFILTER, 0, f, removed(done, unix.EINVAL))
}

// Classify gives what leaves through a link for an address to a class of its tree.
func (p *Pipeline) Classify(index int, class uint16, mac string, done func(error)) {
	hw, err := net.ParseMAC(mac)
	if err != nil || len(hw) != 6 {
		done(fmt.Errorf("filter set: link %d: %q is no address of Ethernet", index, mac))
		return
	}
	o := nl.NewRtAttr(unix.TCA_OPTIONS, nil)
	o.AddRtAttr(tcaU32ClassID, nl.Uint32Attr(TreeHandle<<16|uint32(class)))
	o.AddRtAttr(tcaU32Sel, selector(
		u32Key{mask: 0xffff, value: uint32(hw[0])<<8 | uint32(hw[1]), at: -16},
		u32Key{mask: 0xffffffff, value: binary.BigEndian.Uint32(hw[2:]), at: -12},
	))
	f := tcHeader(index, 0, TreeHandle<<16)
	f.Info = filterInfo(class)
	p.tc("filter set", unix.RTM_NEWTFILTER, unix.NLM_F_CREATE|unix.NLM_F_EXCL, f, without("u32", "CONFIG_NET_CLS_U32", done), kindOf("u32"), o)
}

// Unclassify takes that back.
func (p *Pipeline) Unclassify(index int, class uint16, done func(error)) {
	f := tcHeader(index, 0, TreeHandle<<16)
	f.Info = filterInfo(class)
	p.tc("filter delete", unix.RTM_DELTFILTER, 0, f, removed(done, unix.EINVAL))
}
