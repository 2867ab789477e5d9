package host

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"slices"

	"github.com/vishvananda/netlink"
	"github.com/vishvananda/netlink/nl"
	"golang.org/x/sys/unix"
)

// Fence says which packets the host does not forward through a link, regardless of firewall rules. Packets that the host itself
// sends and receives there are not forwarded, nor are packets that stay on the link. Frames of a VLAN are another link's; a tag of
// VLAN 0 is no VLAN, and the kernel removes it.
type Fence struct {
	From     bool // packets that came in through the link do not leave through another link
	To4, To6 bool // packets of IPv4, of IPv6, that came in through another link do not leave through this link
}

// ClosedFence is the fence of a link that nothing is forwarded from or to.
func ClosedFence() Fence { return Fence{From: true, To4: true, To6: true} }

// Or is a fence for the packets that either fence drops.
func (f Fence) Or(o Fence) Fence {
	return Fence{From: f.From || o.From, To4: f.To4 || o.To4, To6: f.To6 || o.To6}
}

// FencePref is the preference of a fence's first filter in each direction; a second filter has the next. They precede filters that
// redirect.
const FencePref = 31340

// tcaBPFFD and tcaBPFName are attributes of a filter of kind bpf (include/uapi/linux/pkt_cls.h).
const (
	tcaBPFFD   = 6
	tcaBPFName = 7
)

// panel is a filter of a fence.
type panel struct {
	parent   uint32 // clsact's ingress or egress
	pref     uint32
	proto    uint16 // of the frames that it looks at
	program  func() []byte
	name     string
	standsIn func(f *Fence) *bool
}

// panels are all filters that fences consist of.
func panels() []panel {
	const in, out = netlink.HANDLE_MIN_INGRESS, netlink.HANDLE_MIN_EGRESS
	return []panel{
		{in, FencePref, unix.ETH_P_ALL, fenceFrom, "from", func(f *Fence) *bool { return &f.From }}, // to others a frame with a tag is none of IP
		{out, FencePref, unix.ETH_P_IP, fenceTo, "to4", func(f *Fence) *bool { return &f.To4 }},
		{out, FencePref + 1, unix.ETH_P_IPV6, fenceTo, "to6", func(f *Fence) *bool { return &f.To6 }},
	}
}

// info is the filter's preference, and which frames it looks at.
func (p panel) info() uint32 { return p.pref<<16 | uint32(bigEndian(p.proto)) }

// label is the name of the filter. It changes with the program, so that the filter of another version is recognized.
func (p panel) label(program []byte) string {
	h := uint32(2166136261) // FNV-1a
	for _, b := range program {
		h = (h ^ uint32(b)) * 16777619
	}
	return fmt.Sprintf("taproom-%s-%08x", p.name, h)
}

// SetFence makes a link drop the packets that the fence says, and no others. Filters of other programs stay.
func (k *Kernel) SetFence(index int, want Fence) error {
	have, err := k.Fence(index)
	if err != nil && !errors.Is(err, ErrPartial) {
		return err
	}
	p := k.Pipeline()
	var errs []error
	done := func(err error) { errs = append(errs, err) }
	var open []*os.File
	if want != (Fence{}) {
		p.tc("qdisc set", unix.RTM_NEWQDISC, unix.NLM_F_CREATE, tcHeader(index, netlink.MakeHandle(0xffff, 0), netlink.HANDLE_CLSACT), without("clsact", "CONFIG_NET_SCH_INGRESS", done), kindOf("clsact"))
	}
	for _, one := range panels() {
		switch stands, should := *one.standsIn(&have), *one.standsIn(&want); {
		case should && !stands:
			program, err := k.loadProgram(one.program())
			if err != nil {
				errs = append(errs, err)
				continue
			}
			open = append(open, program)
			p.setPanel(index, one, int(program.Fd()), done)
		case !should:
			h := tcHeader(index, 0, one.parent)
			h.Info = one.info()
			p.tc("filter delete", unix.RTM_DELTFILTER, 0, h, removed(done, unix.EINVAL))
		}
	}
	p.Flush()
	for _, f := range open { // the filters hold their programs
		errs = append(errs, f.Close())
	}
	if err := cmp.Or(errors.Join(errs...)); err != nil {
		return fmt.Errorf("keep link %d from being forwarded through: %w", index, err)
	}
	return nil
}

func (p *Pipeline) setPanel(index int, one panel, program int, done func(error)) {
	o := nl.NewRtAttr(unix.TCA_OPTIONS, nil)
	o.AddRtAttr(tcaBPFFD, nl.Uint32Attr(uint32(program)))
	o.AddRtAttr(tcaBPFName, nl.ZeroTerminated(one.label(one.program())))
	o.AddRtAttr(tcaBPFFlags, nl.Uint32Attr(bpfActsDirectly))
	h := tcHeader(index, 1, one.parent)
	h.Info = one.info()
	p.tc("filter set", unix.RTM_NEWTFILTER, unix.NLM_F_CREATE, h, without("cls_bpf", "CONFIG_NET_CLS_BPF", done), kindOf("bpf"), o)
}

// Fence reads which packets a link keeps from being forwarded. ErrPartial when a listing was interrupted.
func (k *Kernel) Fence(index int) (Fence, error) {
	in, err := k.fenceFilters(index, netlink.HANDLE_MIN_INGRESS)
	if err != nil && !errors.Is(err, ErrPartial) {
		return Fence{}, err
	}
	out, oerr := k.fenceFilters(index, netlink.HANDLE_MIN_EGRESS)
	if oerr != nil && !errors.Is(oerr, ErrPartial) {
		return Fence{}, oerr
	}
	f := ClosedFence()
	for _, one := range panels() {
		label := one.label(one.program())
		if !slices.Contains(in, label) && !slices.Contains(out, label) {
			*one.standsIn(&f) = false
		}
	}
	return f, cmp.Or(err, oerr)
}

// fenceFilters are the names of the filters of kind bpf at a link's ingress or egress.
func (k *Kernel) fenceFilters(index int, parent uint32) ([]string, error) {
	k.Step("filter list")
	msgs, err := k.get(unix.RTM_GETTFILTER, unix.NLM_F_DUMP, unix.RTM_NEWTFILTER, tcHeader(index, 0, parent))
	if errors.Is(err, unix.EINVAL) || errors.Is(err, unix.ENOENT) { // there is no clsact
		return nil, nil
	}
	if err != nil && !errors.Is(err, ErrPartial) {
		return nil, fmt.Errorf("list filters of link %d: %w", index, err)
	}
	var out []string
	for _, m := range msgs {
		_, kind, options, perr := parseTC(m)
		if perr == nil && kind == "bpf" && options != nil {
			var a map[uint16][]byte
			a, perr = attrMap(options)
			out = append(out, unix.ByteSliceToString(a[tcaBPFName]))
		}
		if perr != nil {
			return nil, fmt.Errorf("list filters of link %d: %w", index, perr)
		}
	}
	return out, err
}
