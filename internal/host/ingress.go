package host

import (
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/vishvananda/netlink"
	"github.com/vishvananda/netlink/nl"
	"golang.org/x/sys/unix"
)

// Attributes of a filter of kind bpf (include/uapi/linux/pkt_cls.h).
const (
	tcaBPFOpsLen    = 4
	tcaBPFOps       = 5
	tcaBPFFlags     = 8
	bpfActsDirectly = 1 // TCA_BPF_FLAG_ACT_DIRECT: what the program returns is what becomes of the frame
)

// NotForHost keeps what comes in through a link from the host's own stack, which would answer ARP there, take what is for
// one of its addresses, and forward; done learns how it ended. Packet sockets see a frame before, and what a link's master
// takes it would get after: so it is for links that a program reads frames from.
func (p *Pipeline) NotForHost(index int, done func(error)) {
	var first error
	h := nl.TcMsg{Family: unix.AF_UNSPEC, Ifindex: int32(index), Handle: netlink.MakeHandle(0xffff, 0), Parent: netlink.HANDLE_CLSACT}
	p.send("qdisc set", message(unix.RTM_NEWQDISC, unix.NLM_F_CREATE|unix.NLM_F_EXCL, &h, nl.NewRtAttr(unix.TCA_KIND, nl.ZeroTerminated("clsact"))),
		func(_ []byte, err error) { first = err })

	const drop = 2 // TC_ACT_SHOT
	program := make([]byte, unix.SizeofSockFilter)
	binary.NativeEndian.PutUint16(program, unix.BPF_RET|unix.BPF_K)
	binary.NativeEndian.PutUint32(program[4:], drop)
	all := uint32(binary.BigEndian.Uint16(binary.NativeEndian.AppendUint16(nil, unix.ETH_P_ALL)))
	const priority = 1
	f := nl.TcMsg{Family: unix.AF_UNSPEC, Ifindex: int32(index), Parent: netlink.HANDLE_MIN_INGRESS, Info: priority<<16 | all}
	options := nl.NewRtAttr(unix.TCA_OPTIONS, nil)
	options.AddRtAttr(tcaBPFOpsLen, nl.Uint16Attr(1))
	options.AddRtAttr(tcaBPFOps, program)
	options.AddRtAttr(tcaBPFFlags, nl.Uint32Attr(bpfActsDirectly))
	p.send("filter set", message(unix.RTM_NEWTFILTER, unix.NLM_F_CREATE|unix.NLM_F_EXCL, &f, nl.NewRtAttr(unix.TCA_KIND, nl.ZeroTerminated("bpf")), options),
		func(_ []byte, err error) {
			if err = errors.Join(first, err); err != nil {
				err = fmt.Errorf("keep what comes in through link %d from the host (clsact and bpf, which need CONFIG_NET_SCH_INGRESS and CONFIG_NET_CLS_BPF): %w", index, err)
			}
			done(err)
		})
}
