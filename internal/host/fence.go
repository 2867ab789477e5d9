package host

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
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

// fenceHandle is the handle of a fence's filters.
const fenceHandle = 1

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
	program  []byte
	label    string // changes with the program, so that the filter of another version is recognized
	standsIn func(f *Fence) *bool
}

// panels are all filters that fences consist of.
func panels() []panel {
	const in, out = netlink.HANDLE_MIN_INGRESS, netlink.HANDLE_MIN_EGRESS
	from, to := fenceFrom(), fenceTo()
	return []panel{
		{in, FencePref, unix.ETH_P_ALL, from, fenceLabel("from", from), func(f *Fence) *bool { return &f.From }}, // to others a frame with a tag is none of IP
		{out, FencePref, unix.ETH_P_IP, to, fenceLabel("to4", to), func(f *Fence) *bool { return &f.To4 }},
		{out, FencePref + 1, unix.ETH_P_IPV6, to, fenceLabel("to6", to), func(f *Fence) *bool { return &f.To6 }},
	}
}

func fenceLabel(name string, program []byte) string {
	h := uint32(2166136261) // FNV-1a
	for _, b := range program {
		h = (h ^ uint32(b)) * 16777619
	}
	return fmt.Sprintf("taproom-%s-%08x", name, h)
}

// header names the filter at a link.
func (p panel) header(index int, handle uint32) *nl.TcMsg {
	h := tcHeader(index, handle, p.parent)
	h.Info = p.pref<<16 | uint32(bigEndian(p.proto))
	return h
}

// SetFence makes a link drop the packets that the fence says, and no others. Filters of other programs stay.
func (k *Kernel) SetFence(index int, want Fence) error {
	return k.SetFences(map[int]Fence{index: want})[index]
}

// SetFences is SetFence for many links, by index. It returns the error of each link whose fence could not be set.
func (k *Kernel) SetFences(want map[int]Fence) map[int]error {
	all, failed := panels(), map[int]error{}
	have, unread := k.readFences(all, slices.Sorted(maps.Keys(want)))
	programs := fencePrograms{k: k, open: make([]*os.File, len(all))}
	defer programs.close()
	p := k.Pipeline()
	for _, index := range slices.Sorted(maps.Keys(want)) {
		done := func(err error) { failed[index] = cmp.Or(failed[index], err) }
		if done(unread[index]); failed[index] != nil {
			continue
		}
		p.setFence(index, all, have[index], want[index], &programs, done)
	}
	p.Flush()
	for index, err := range failed {
		if failed[index] = fmt.Errorf("keep link %d from being forwarded through: %w", index, err); err == nil {
			delete(failed, index)
		}
	}
	return failed
}

func (p *Pipeline) setFence(index int, all []panel, have, want Fence, programs *fencePrograms, done func(error)) {
	if want != (Fence{}) {
		p.tc("qdisc set", unix.RTM_NEWQDISC, unix.NLM_F_CREATE, tcHeader(index, netlink.MakeHandle(0xffff, 0), netlink.HANDLE_CLSACT), without("clsact", "CONFIG_NET_SCH_INGRESS", done), kindOf("clsact"))
	}
	for i, one := range all {
		switch stands, should := *one.standsIn(&have), *one.standsIn(&want); {
		case should && !stands:
			program, err := programs.of(i, one)
			if err != nil {
				done(err)
				continue
			}
			p.setPanel(index, one, program, done)
		case !should:
			p.tc("filter delete", unix.RTM_DELTFILTER, 0, one.header(index, 0), removed(done, unix.EINVAL))
		}
	}
}

func (p *Pipeline) setPanel(index int, one panel, program int, done func(error)) {
	o := nl.NewRtAttr(unix.TCA_OPTIONS, nil)
	o.AddRtAttr(tcaBPFFD, nl.Uint32Attr(uint32(program)))
	o.AddRtAttr(tcaBPFName, nl.ZeroTerminated(one.label))
	o.AddRtAttr(tcaBPFFlags, nl.Uint32Attr(bpfActsDirectly))
	p.tc("filter set", unix.RTM_NEWTFILTER, unix.NLM_F_CREATE, one.header(index, fenceHandle), without("cls_bpf", "CONFIG_NET_CLS_BPF", done), kindOf("bpf"), o)
}

// fencePrograms loads the program of each panel once. The filters hold their programs after close.
type fencePrograms struct {
	k    *Kernel
	open []*os.File // by the panel's number; nil: not loaded
}

func (f *fencePrograms) of(i int, one panel) (fd int, err error) {
	if f.open[i] == nil {
		if f.open[i], err = f.k.loadProgram(one.program); err != nil {
			return 0, err
		}
	}
	return int(f.open[i].Fd()), nil
}

func (f *fencePrograms) close() {
	for _, program := range f.open {
		if program != nil {
			_ = program.Close()
		}
	}
}

// Fence reads which packets a link keeps from being forwarded; ErrNoLink when the link is gone.
func (k *Kernel) Fence(index int) (Fence, error) {
	have, failed := k.readFences(panels(), []int{index})
	return have[index], failed[index]
}

// Fences reads the fences of many links, by index. A link that has no filters costs no request. It returns the error of each link whose
// fence could not be read.
func (k *Kernel) Fences(links []int) (map[int]Fence, map[int]error) {
	queues, err := k.Queues()
	if err == nil {
		filtered := map[int]bool{}
		for _, q := range queues {
			filtered[q.Index] = filtered[q.Index] || q.Handle == IngressHandle
		}
		links = slices.DeleteFunc(slices.Clone(links), func(index int) bool { return !filtered[index] })
	}
	if len(links) == 0 {
		return nil, nil
	}
	return k.readFences(panels(), links)
}

// readFences asks for each filter of each link.
func (k *Kernel) readFences(all []panel, links []int) (map[int]Fence, map[int]error) {
	have, failed := map[int]Fence{}, map[int]error{}
	p := k.Pipeline()
	for _, index := range links {
		for _, one := range all {
			p.send("filter get", message(unix.RTM_GETTFILTER, 0, one.header(index, fenceHandle), kindOf("bpf")), func(reply []byte, err error) {
				stands, err := one.answered(reply, err)
				if err != nil {
					failed[index] = changeError("filter get", index, err)
				}
				f := have[index]
				*one.standsIn(&f) = stands
				have[index] = f
			})
		}
	}
	p.Flush()
	return have, failed
}

// answered reports whether an answer to a request for the filter is the filter.
func (p panel) answered(reply []byte, err error) (bool, error) {
	switch {
	case errors.Is(err, unix.EINVAL), errors.Is(err, unix.ENOENT), err == nil && reply == nil: // there is no clsact, or not this filter
		return false, nil
	case err != nil:
		return false, err
	}
	_, kind, options, err := parseTC(reply)
	if err != nil || kind != "bpf" {
		return false, err
	}
	a, err := attrMap(options)
	return unix.ByteSliceToString(a[tcaBPFName]) == p.label, err
}
