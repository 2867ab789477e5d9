package host

import (
	"github.com/vishvananda/netlink"
	"github.com/vishvananda/netlink/nl"
	"golang.org/x/sys/unix"
)

// HTBClass is a class of a tree that divides a link's rate: Rate is its own in any case, and up to Ceil it borrows what its
// parent has left.
type HTBClass struct {
	Rate, Ceil             uint64 // bytes a second, with the headers of Ethernet
	RateBuffer, CeilBuffer uint32 // ticks of either that pass at once
}

// Attributes of an HTB (include/uapi/linux/pkt_sched.h).
const (
	tcaHTBParms  = 1
	tcaHTBInit   = 2
	tcaHTBRate64 = 6
	tcaHTBCeil64 = 7
)

// htbQuantum is how many bytes of one class follow each other where several borrow: a whole frame before it is cut.
const htbQuantum = 66000

// SetTree puts an HTB without classes at the root of a link, in the place of what is there, which is not one of ours already:
// the kernel changes none. What no filter gives to a class is the class rest's.
func (p *Pipeline) SetTree(index int, rest uint16, done func(error)) {
	o := nl.NewRtAttr(unix.TCA_OPTIONS, nil)
	o.AddRtAttr(tcaHTBInit, words(3, 10, uint32(rest), 0, 0)) // version, what quanta are guessed by, default
	p.tc("qdisc set", unix.RTM_NEWQDISC, unix.NLM_F_CREATE|unix.NLM_F_REPLACE, tcHeader(index, TreeHandle<<16, netlink.HANDLE_ROOT), without("HTB", "CONFIG_NET_SCH_HTB", done), kindOf("htb"), o)
}

// SetClass makes a class below another one of the link's tree, or below its root with parent 0, or changes it: what waits in
// it goes on waiting.
func (p *Pipeline) SetClass(index int, parent, class uint16, c HTBClass, done func(error)) {
	o := nl.NewRtAttr(unix.TCA_OPTIONS, nil)
	parms := append(rateSpec(c.Rate), rateSpec(c.Ceil)...)
	o.AddRtAttr(tcaHTBParms, append(parms, words(c.RateBuffer, c.CeilBuffer, htbQuantum, 0, 0)...))
	rate64(o, tcaHTBRate64, c.Rate)
	rate64(o, tcaHTBCeil64, c.Ceil)
	h := tcHeader(index, TreeHandle<<16|uint32(class), TreeHandle<<16|uint32(parent))
	p.tc("class set", unix.RTM_NEWTCLASS, unix.NLM_F_CREATE, h, done, kindOf("htb"), o)
}

// DelClass removes a class that no filter names and no class is below of; one that is not there is no error.
func (p *Pipeline) DelClass(index int, class uint16, done func(error)) {
	p.tc("class delete", unix.RTM_DELTCLASS, 0, tcHeader(index, TreeHandle<<16|uint32(class), 0), removed(done))
}

func parseHTBClass(options []byte) (HTBClass, error) {
	a, err := attrMap(options)
	if err != nil {
		return HTBClass{}, err
	}
	parms := a[tcaHTBParms]
	if len(parms) < 44 {
		return HTBClass{}, errAttributes
	}
	return HTBClass{
		Rate: readRate(parms, a[tcaHTBRate64]), Ceil: readRate(parms[12:], a[tcaHTBCeil64]),
		RateBuffer: word(parms, 24), CeilBuffer: word(parms, 28),
	}, nil
}
