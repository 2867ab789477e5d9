package host

import (
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"net"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"
)

// Queue is what is at the root of a link's way out, where it is ours, or what may have filters for what comes in.
type Queue struct {
	Index  int
	Handle uint16 // BucketHandle, TreeHandle, or IngressHandle
	Bucket TBF    // where it is a bucket
	Rest   uint16 // where it is a tree: the class of what no filter names
}

// Leaf is a class of a tree: what it has, what is inside of it, and whose frames it gets.
type Leaf struct {
	Class, Parent uint16
	HTBClass
	Cut TBF    // the bucket inside
	MAC string // "" where no filter leads to it
}

// Queues lists the queues of every link that are ours, and what may redirect what comes in. ErrPartial when the listing was interrupted.
func (k *Kernel) Queues() ([]Queue, error) {
	k.Step("qdisc list")
	msgs, err := k.get(unix.RTM_GETQDISC, unix.NLM_F_DUMP, unix.RTM_NEWQDISC, tcHeader(0, 0, 0))
	if err != nil && !errors.Is(err, ErrPartial) {
		return nil, fmt.Errorf("list queues: %w", err)
	}
	var out []Queue
	fair := map[int]FairQueue{} // inside buckets, by link
	for _, m := range msgs {
		q, ours, perr := parseQueue(m)
		if perr != nil {
			return nil, fmt.Errorf("list queues: %w", perr)
		}
		if ours {
			out = append(out, q)
		}
		if h, kind, options, perr := parseTC(m); perr == nil && kind == "fq_codel" && h.parent == BucketHandle<<16|inside {
			if fair[h.index], perr = parseFair(options); perr != nil {
				return nil, fmt.Errorf("list queues: %w", perr)
			}
		}
	}
	for i := range out {
		if out[i].Handle == BucketHandle {
			out[i].Bucket.Fair = fair[out[i].Index]
		}
	}
	return out, err
}

// Queue reads the queue at the root of a link; there is none where ours is not there. The kernel tells of that whoever listens to
// what changes about queues, as if it were new.
func (k *Kernel) Queue(index int) (q Queue, there bool, err error) {
	p := k.Pipeline()
	p.send("qdisc get", message(unix.RTM_GETQDISC, unix.NLM_F_ECHO, tcHeader(index, 0, netlink.HANDLE_ROOT)), func(reply []byte, aerr error) {
		switch {
		case errors.Is(aerr, unix.ENOENT), aerr == nil && reply == nil: // the kernel's own
		case aerr != nil:
			err = changeError("qdisc get", index, aerr)
		default:
			q, there, err = parseQueue(reply)
		}
	})
	var fair FairQueue
	p.fairInside(index, BucketHandle, func(f FairQueue) { fair = f })
	p.Flush()
	if there && q.Handle == BucketHandle {
		q.Bucket.Fair = fair
	}
	return q, there, err
}

// tcHead are the parts of struct tcmsg that answers are told apart by.
type tcHead struct {
	index                int
	handle, parent, info uint32
}

func parseTC(m []byte) (h tcHead, kind string, options []byte, err error) {
	const size = 20 // family and padding, ifindex, handle, parent, info
	if len(m) < size {
		return h, "", nil, errAttributes
	}
	h = tcHead{int(int32(binary.NativeEndian.Uint32(m[4:]))), word(m, 8), word(m, 12), word(m, 16)}
	a, err := attrMap(m[size:])
	return h, unix.ByteSliceToString(a[unix.TCA_KIND]), a[unix.TCA_OPTIONS], err
}

func parseQueue(m []byte) (q Queue, ours bool, err error) {
	h, kind, options, err := parseTC(m)
	q = Queue{Index: h.index, Handle: uint16(h.handle >> 16)}
	switch {
	case err != nil:
	case kind == "clsact":
		return q, true, nil
	case h.parent != netlink.HANDLE_ROOT:
	case kind == "tbf" && q.Handle == BucketHandle:
		q.Bucket, err = parseTBF(options)
		return q, true, err
	case kind == "htb" && q.Handle == TreeHandle:
		a, err := attrMap(options)
		q.Rest = uint16(word(a[tcaHTBInit], 8))
		return q, true, err
	}
	return q, false, err
}

// Leaves lists the classes of a link's tree, in no order. ErrPartial when the listing was interrupted.
func (k *Kernel) Leaves(index int) ([]Leaf, error) {
	k.Step("class list")
	classes, err := k.get(unix.RTM_GETTCLASS, unix.NLM_F_DUMP, unix.RTM_NEWTCLASS, tcHeader(index, 0, TreeHandle<<16))
	if err != nil && !errors.Is(err, ErrPartial) {
		return nil, fmt.Errorf("list classes of link %d: %w", index, err)
	}
	partial := err
	var out []Leaf
	at := map[uint16]int{}
	for _, m := range classes {
		h, kind, options, err := parseTC(m)
		if err != nil {
			return nil, fmt.Errorf("list classes of link %d: %w", index, err)
		}
		if kind != "htb" || h.handle>>16 != TreeHandle {
			continue
		}
		l := Leaf{Class: uint16(h.handle), Parent: uint16(h.parent)}
		if h.parent == netlink.HANDLE_ROOT {
			l.Parent = 0
		}
		if l.HTBClass, err = parseHTBClass(options); err != nil {
			return nil, fmt.Errorf("list classes of link %d: %w", index, err)
		}
		at[l.Class] = len(out)
		out = append(out, l)
	}
	return out, errors.Join(partial, k.insides(index, out), k.classified(index, out, at))
}

// insides reads what is inside of classes.
func (k *Kernel) insides(index int, leaves []Leaf) error {
	p := k.Pipeline()
	var errs []error
	for i := range leaves {
		h := tcHeader(index, 0, TreeHandle<<16|uint32(leaves[i].Class))
		p.send("qdisc get", message(unix.RTM_GETQDISC, unix.NLM_F_ECHO, h), func(reply []byte, err error) {
			if err != nil || reply == nil { // the kernel's own
				return
			}
			_, kind, options, err := parseTC(reply)
			if err == nil && kind == "tbf" {
				leaves[i].Cut, err = parseTBF(options)
			}
			if err != nil {
				errs = append(errs, err)
			}
		})
		p.fairInside(index, leaves[i].Class, func(f FairQueue) { leaves[i].Cut.Fair = f })
	}
	p.Flush()
	return errors.Join(errs...)
}

// classified reads whose frames the classes get.
func (k *Kernel) classified(index int, leaves []Leaf, at map[uint16]int) error {
	filters, err := k.filters(index, TreeHandle<<16)
	for _, f := range filters {
		if i, ok := at[f.class]; ok && uint16(f.info>>16) == f.class {
			leaves[i].MAC = f.mac
		}
	}
	return err
}

// Redirected is the index of the link whose queue everything takes first that comes in through a link; 0 is none, and -1 one that has
// gone: then what comes in is lost.
func (k *Kernel) Redirected(index int) (int, error) {
	filters, err := k.filters(index, netlink.HANDLE_MIN_INGRESS)
	for _, f := range filters {
		if f.info>>16 == RedirectPref && f.through != 0 {
			return f.through, err
		}
	}
	return 0, err
}

// filter is one of kind u32.
type filter struct {
	tcHead
	class   uint16
	mac     string
	through int
}

func (k *Kernel) filters(index int, parent uint32) ([]filter, error) {
	k.Step("filter list")
	msgs, err := k.get(unix.RTM_GETTFILTER, unix.NLM_F_DUMP, unix.RTM_NEWTFILTER, tcHeader(index, 0, parent))
	if errors.Is(err, unix.EINVAL) || errors.Is(err, unix.ENOENT) { // there is no such queue
		return nil, nil
	}
	if err != nil && !errors.Is(err, ErrPartial) {
		return nil, fmt.Errorf("list filters of link %d: %w", index, err)
	}
	var out []filter
	for _, m := range msgs {
		f, perr := parseFilter(m)
		if perr != nil {
			return nil, fmt.Errorf("list filters of link %d: %w", index, perr)
		}
		out = append(out, f)
	}
	return out, err
}

func parseFilter(m []byte) (f filter, err error) {
	h, kind, options, err := parseTC(m)
	f.tcHead = h
	if err != nil || kind != "u32" {
		return f, err
	}
	a, err := attrMap(options)
	if err != nil {
		return f, err
	}
	f.class = uint16(uint32Value(a[tcaU32ClassID]))
	f.mac = macOf(a[tcaU32Sel])
	return f, attrs(a[tcaU32Act], func(_ uint16, action []byte) error {
		one, err := attrMap(action)
		if err != nil || unix.ByteSliceToString(one[tcaActKind]) != "mirred" {
			return err
		}
		parms, err := attrMap(one[tcaActOptions])
		if p := parms[tcaMirredParms]; err == nil && word(p, 20) == mirredEgressRedirect {
			f.through = int(cmp.Or(int32(word(p, 24)), -1))
		}
		return err
	})
}

// macOf is the address that a selector of ours asks for.
func macOf(sel []byte) string {
	const keys, size = 16, 16
	if len(sel) < keys+2*size || sel[2] != 2 {
		return ""
	}
	first, second := sel[keys:], sel[keys+size:]
	if int32(word(first, 8)) != -16 || int32(word(second, 8)) != -12 {
		return ""
	}
	return net.HardwareAddr(append(append([]byte{}, first[6:8]...), second[4:8]...)).String()
}
