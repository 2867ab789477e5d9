package host

import (
	"encoding/binary"
	"errors"
	"math/bits"
	"slices"

	"github.com/vishvananda/netlink"
	"github.com/vishvananda/netlink/nl"
	"golang.org/x/sys/unix"
)

// Handles of the queues that are ours: by them they are known. A bucket and a tree have two, so that one takes the other's
// place by one message.
const (
	BucketHandle = 0x7a70 // of a TBF at a link's root
	TreeHandle   = 0x7a71 // of an HTB at a link's root; its classes have it in front
	// IngressHandle is the kernel's, of what filters hang on for what comes in.
	IngressHandle = 0xffff
)

// RedirectPref is the preference of the filter that redirects what comes in through a link.
const RedirectPref = 31344

// ticksPerSecond is how the kernel counts time where it tells of buckets: in 64 ns (PSCHED_SHIFT in include/net/pkt_sched.h).
const ticksPerSecond = 1e9 / 64

// Ticks is how long that many bytes take at a rate in bytes a second, in the kernel's ticks of 64 ns; at most 274 s.
func Ticks(bytes, rate uint64) uint32 {
	hi, lo := bits.Mul64(bytes, ticksPerSecond)
	if rate == 0 {
		return 0
	}
	if hi >= rate {
		return 1<<32 - 1
	}
	t, _ := bits.Div64(hi, lo, rate)
	return uint32(min(t, 1<<32-1))
}

// Bytes is what passes at a rate in that many ticks, rounded up: Ticks of it is as many again.
func Bytes(ticks uint32, rate uint64) uint64 {
	hi, lo := bits.Mul64(uint64(ticks), rate)
	lo, more := bits.Add64(lo, ticksPerSecond-1, 0)
	if hi += more; hi >= ticksPerSecond {
		return 1<<64 - 1
	}
	b, _ := bits.Div64(hi, lo, ticksPerSecond)
	return b
}

func tcHeader(index int, handle, parent uint32) *nl.TcMsg {
	return &nl.TcMsg{Family: unix.AF_UNSPEC, Ifindex: int32(index), Handle: handle, Parent: parent}
}

func kindOf(kind string) *nl.RtAttr { return nl.NewRtAttr(unix.TCA_KIND, nl.ZeroTerminated(kind)) }

// tc sends a message about queues and names the link in the error.
func (p *Pipeline) tc(step string, kind, flags int, h *nl.TcMsg, done func(error), data ...nl.NetlinkRequestData) {
	p.send(step, message(kind, flags, append([]nl.NetlinkRequestData{h}, data...)...), func(_ []byte, err error) {
		done(changeError(step, int(h.Ifindex), err))
	})
}

// without says that a kernel knows no such queue, filter or action, where that is why it refused one.
func without(what, config string, done func(error)) func(error) {
	return func(err error) {
		if errors.Is(err, unix.ENOENT) {
			err = &Missing{What: what, Config: config, Err: err}
		}
		done(err)
	}
}

// DelQueue removes the bucket or the tree at the root of a link; one that is not there is no error. What waits in it is lost.
func (p *Pipeline) DelQueue(index int, handle uint16, done func(error)) {
	p.tc("qdisc delete", unix.RTM_DELQDISC, 0, tcHeader(index, uint32(handle)<<16, netlink.HANDLE_ROOT), removed(done, unix.EINVAL))
}

// removed takes what is not there for removed, and one of the errors that the kernel says it by beside ENOENT: EINVAL where
// another queue is at the root by now, or none, that a filter could hang on.
func removed(done func(error), also ...error) func(error) {
	return func(err error) {
		if errors.Is(err, unix.ENOENT) || slices.ContainsFunc(also, func(e error) bool { return errors.Is(err, e) }) {
			err = nil
		}
		done(err)
	}
}

// rateSpec is struct tc_ratespec of the kernel's pkt_sched.h, for frames on an Ethernet.
func rateSpec(rate uint64) []byte {
	const ethernet = 1
	b := make([]byte, 12)
	b[1] = ethernet
	binary.NativeEndian.PutUint32(b[8:], uint32(min(rate, 1<<32-1)))
	return b
}

func words(values ...uint32) []byte {
	var b []byte
	for _, v := range values {
		b = binary.NativeEndian.AppendUint32(b, v)
	}
	return b
}

// rate64 adds a rate that 32 bits cannot say.
func rate64(to *nl.RtAttr, kind int, rate uint64) {
	if rate >= 1<<32 {
		to.AddRtAttr(kind, nl.Uint64Attr(rate))
	}
}

// readRate reads a rate from a ratespec, or from the attribute that has more bits.
func readRate(spec, more []byte) uint64 {
	if len(more) >= 8 {
		return binary.NativeEndian.Uint64(more)
	}
	if len(spec) < 12 {
		return 0
	}
	return uint64(binary.NativeEndian.Uint32(spec[8:]))
}

// word is the number at an offset, 0 where there is none.
func word(b []byte, at int) uint32 {
	if len(b) < at {
		return 0
	}
	return uint32Value(b[at:])
}
