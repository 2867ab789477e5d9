package host

import (
	"errors"
	"fmt"

	"github.com/vishvananda/netlink"
	"github.com/vishvananda/netlink/nl"
	"golang.org/x/sys/unix"
)

// TBF is a token bucket: what leaves through it keeps a rate, and waits for that. Frames that are larger than what it holds
// are cut into segments, as the network card would. The zero value is none.
type TBF struct {
	Rate   uint64 // bytes a second, with the headers of Ethernet
	Buffer uint32 // ticks of Rate that it holds when it is full
	Peak   uint64 // bytes a second while it empties; 0 is as fast as the link can
	// PeakBuffer is how many ticks of Peak pass at once.
	PeakBuffer uint32
	Limit      uint32 // bytes that may wait
	// Segment is how large what leaves may be, in bytes: larger segments are cut. 0 leaves that to the buffers. Only where Rate
	// or Peak is CutRate. The kernel does not tell it.
	Segment uint32
	Fair    FairQueue // that frames wait in
}

// CutRate is the rate of a bucket that only cuts: time does not pass in it.
const CutRate = 1e15

// Attributes of a TBF (include/uapi/linux/pkt_sched.h).
const (
	tcaTBFParms  = 1
	tcaTBFRate64 = 4
	tcaTBFPeak64 = 5
	tcaTBFBurst  = 6
	tcaTBFPBurst = 7
)

// SetTBF puts a bucket at the root of a link, in the place of what is there, or changes the one that is: what waits in it goes
// on waiting. done learns how it ended.
func (p *Pipeline) SetTBF(index int, t TBF, done func(error)) {
	p.bucket(tcHeader(index, BucketHandle<<16, netlink.HANDLE_ROOT), BucketHandle, t, without("TBF", "CONFIG_NET_SCH_TBF", done), done)
}

// SetClassTBF is SetTBF inside of a class of the link's tree, by whose number it is known.
func (p *Pipeline) SetClassTBF(index int, class uint16, t TBF, done func(error)) {
	p.bucket(tcHeader(index, uint32(class)<<16, TreeHandle<<16|uint32(class)), class, t, func(err error) {
		if errors.Is(err, unix.ENOENT) { // the kernel says the same of both
			err = fmt.Errorf("class %d has gone, or the kernel has no TBF (CONFIG_NET_SCH_TBF): %w", class, err)
		}
		done(err)
	}, done)
}

// bucket sets a bucket and the queue inside. made learns how the bucket's part ended where that is all or where it failed, and done how the
// queue's did.
func (p *Pipeline) bucket(h *nl.TcMsg, handle uint16, t TBF, made, done func(error)) {
	if t.Fair == (FairQueue{}) {
		p.tbf(h, t, made)
		return
	}
	failed := false
	p.tbf(h, t, func(err error) {
		if failed = err != nil; failed {
			made(err)
		}
	})
	p.fair(int(h.Ifindex), handle, t.Fair, func(err error) {
		if !failed {
			done(err)
		}
	})
}

func (p *Pipeline) tbf(h *nl.TcMsg, t TBF, done func(error)) {
	o := nl.NewRtAttr(unix.TCA_OPTIONS, nil)
	parms := append(rateSpec(t.Rate), rateSpec(t.Peak)...)
	if t.Peak == 0 {
		clear(parms[12:])
	}
	o.AddRtAttr(tcaTBFParms, append(parms, words(t.Limit, t.Buffer, t.PeakBuffer)...))
	rate64(o, tcaTBFRate64, t.Rate)
	rate64(o, tcaTBFPeak64, t.Peak)
	switch {
	case t.Segment > 0 && t.Peak > 0:
		o.AddRtAttr(tcaTBFPBurst, nl.Uint32Attr(t.Segment))
	case t.Segment > 0:
		o.AddRtAttr(tcaTBFBurst, nl.Uint32Attr(t.Segment))
	}
	p.tc("qdisc set", unix.RTM_NEWQDISC, unix.NLM_F_CREATE|unix.NLM_F_REPLACE, h, done, kindOf("tbf"), o)
}

// parseTBF reads the options of one.
func parseTBF(options []byte) (TBF, error) {
	a, err := attrMap(options)
	if err != nil {
		return TBF{}, err
	}
	parms := a[tcaTBFParms]
	if len(parms) < 36 {
		return TBF{}, errAttributes
	}
	return TBF{
		Rate: readRate(parms, a[tcaTBFRate64]), Peak: readRate(parms[12:], a[tcaTBFPeak64]),
		Limit: word(parms, 24), Buffer: word(parms, 28), PeakBuffer: word(parms, 32),
	}, nil
}
