package host

import (
	"github.com/vishvananda/netlink/nl"
	"golang.org/x/sys/unix"
)

// FairQueue is a queue inside a bucket in which flows take turns (fq_codel): a flow that sends little does not wait for flows that fill the
// queue, and a frame that does not fit costs the flow that has most in it. The zero value is none: frames wait in their order.
type FairQueue struct {
	Memory uint32 // bytes of the kernel's memory that may wait
	// Target is for how many microseconds a flow's frames may wait in the long run. The kernel rounds it.
	Target uint32
}

// Attributes of an fq_codel (include/uapi/linux/pkt_sched.h).
const (
	tcaFairTarget   = 1
	tcaFairInterval = 3
	tcaFairDrops    = 8
	tcaFairMemory   = 9
)

// FairInterval is by how much the interval, within which waiting has to become shorter, is longer than the target (RFC 8289: 20 times).
const FairInterval = 20

// inside is the number of the only class of a bucket, which its queue is in.
const inside = 1

// fair puts a fair queue into the bucket with a handle, in the place of a plain queue, or changes a fair queue that is there: frames in it go on waiting.
func (p *Pipeline) fair(index int, bucket uint16, q FairQueue, done func(error)) {
	o := nl.NewRtAttr(unix.TCA_OPTIONS, nil)
	o.AddRtAttr(tcaFairTarget, nl.Uint32Attr(q.Target))
	o.AddRtAttr(tcaFairInterval, nl.Uint32Attr(FairInterval*q.Target))
	o.AddRtAttr(tcaFairDrops, nl.Uint32Attr(1)) // frames at a time, of the longest flow
	o.AddRtAttr(tcaFairMemory, nl.Uint32Attr(q.Memory))
	p.tc("qdisc set", unix.RTM_NEWQDISC, unix.NLM_F_CREATE|unix.NLM_F_REPLACE, tcHeader(index, 0, uint32(bucket)<<16|inside),
		without("fq_codel", "CONFIG_NET_SCH_FQ_CODEL", done), kindOf("fq_codel"), o)
}

// fairInside asks for the fair queue inside a bucket. found is called when it is there.
func (p *Pipeline) fairInside(index int, bucket uint16, found func(FairQueue)) {
	p.send("qdisc get", message(unix.RTM_GETQDISC, unix.NLM_F_ECHO, tcHeader(index, 0, uint32(bucket)<<16|inside)), func(reply []byte, err error) {
		if err != nil || reply == nil { // a plain queue has no answer
			return
		}
		if _, kind, options, err := parseTC(reply); err == nil && kind == "fq_codel" {
			if q, err := parseFair(options); err == nil {
				found(q)
			}
		}
	})
}

// parseFair reads the options of an fq_codel.
func parseFair(options []byte) (FairQueue, error) {
	a, err := attrMap(options)
	return FairQueue{Memory: uint32Value(a[tcaFairMemory]), Target: uint32Value(a[tcaFairTarget])}, err
}
