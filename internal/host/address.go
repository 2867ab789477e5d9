package host

import (
	"errors"
	"fmt"
	"net/netip"
	"slices"

	"github.com/vishvananda/netlink/nl"
	"golang.org/x/sys/unix"
)

// Addresses lists a link's IPv4 and IPv6 addresses with their prefix lengths, sorted, also those the kernel makes. An
// interrupted dump gives what was seen and ErrPartial.
func (k *Kernel) Addresses(index int) ([]netip.Prefix, error) {
	all, err := k.addresses(index)
	return all[index], err
}

// AllAddresses lists the addresses of every link, by its index, as Addresses does.
func (k *Kernel) AllAddresses() (map[int][]netip.Prefix, error) { return k.addresses(0) }

// addresses asks for those of one link; a kernel before 4.20 answers with those of all.
func (k *Kernel) addresses(index int) (map[int][]netip.Prefix, error) {
	k.Step("address list")
	h := nl.NewIfAddrmsg(unix.AF_UNSPEC)
	h.Index = uint32(index)
	msgs, err := k.get(unix.RTM_GETADDR, unix.NLM_F_DUMP, unix.RTM_NEWADDR, h)
	if errors.Is(err, unix.ENODEV) {
		return nil, fmt.Errorf("list addresses of link %d: %w: %w", index, ErrNoLink, err)
	}
	if err != nil && !errors.Is(err, ErrPartial) {
		return nil, fmt.Errorf("list addresses: %w", err)
	}
	out := make(map[int][]netip.Prefix)
	for _, m := range msgs {
		index, p, perr := parseAddress(m)
		if perr != nil {
			return nil, perr
		}
		if p.IsValid() {
			out[index] = append(out[index], p)
		}
	}
	for _, ps := range out {
		slices.SortFunc(ps, ComparePrefix)
	}
	return out, err
}

// ComparePrefix orders prefixes by address and length.
func ComparePrefix(a, b netip.Prefix) int {
	if c := a.Addr().Compare(b.Addr()); c != 0 {
		return c
	}
	return a.Bits() - b.Bits()
}

func parseAddress(m []byte) (int, netip.Prefix, error) {
	if len(m) < unix.SizeofIfAddrmsg {
		return 0, netip.Prefix{}, errors.New("the kernel sent an address message that is too short")
	}
	h := nl.DeserializeIfAddrmsg(m)
	found, err := attrMap(m[unix.SizeofIfAddrmsg:])
	if err != nil {
		return 0, netip.Prefix{}, fmt.Errorf("read an address message: %w", err)
	}
	// IFA_LOCAL is the own address where IFA_ADDRESS is the peer's; IPv6 has only the latter.
	a, ok := found[unix.IFA_LOCAL]
	if !ok {
		a = found[unix.IFA_ADDRESS]
	}
	addr, ok := netip.AddrFromSlice(a)
	if !ok {
		return 0, netip.Prefix{}, nil // a family without IP addresses
	}
	return int(h.Index), netip.PrefixFrom(addr, int(h.Prefixlen)), nil
}

// AddAddress gives a link an address; for IPv4 with the broadcast address of the prefix. One that is there already is
// not an error.
//
// An IPv6 address is good at once: nobody is asked whether he has it. The question would take a second, and wait for a
// carrier, which a bridge has not when all its ports are down; and the prefix is ours to give out.
func (k *Kernel) AddAddress(index int, p netip.Prefix) error {
	var out error
	l := k.Pipeline()
	l.AddAddress(index, p, func(err error) { out = err })
	l.Flush()
	return out
}

// AddAddress is Kernel.AddAddress; done learns how it ended.
func (p *Pipeline) AddAddress(index int, a netip.Prefix, done func(error)) {
	p.send("address add", message(unix.RTM_NEWADDR, unix.NLM_F_CREATE|unix.NLM_F_EXCL, addressData(unix.RTM_NEWADDR, index, a)...), func(_ []byte, err error) {
		if err != nil && !errors.Is(err, unix.EEXIST) {
			done(fmt.Errorf("add address %s to link %d: %w", a, index, err))
			return
		}
		done(nil)
	})
}

// DelAddress takes an address off a link. One that is not there is not an error.
func (k *Kernel) DelAddress(index int, p netip.Prefix) error {
	k.Step("address delete")
	err := k.do(unix.RTM_DELADDR, 0, addressData(unix.RTM_DELADDR, index, p)...)
	if err != nil && !errors.Is(err, unix.EADDRNOTAVAIL) && !errors.Is(err, unix.ENODEV) {
		return fmt.Errorf("remove address %s from link %d: %w", p, index, err)
	}
	return nil
}

// addressData is what a request of a kind says of an address.
func addressData(kind, index int, p netip.Prefix) []nl.NetlinkRequestData {
	family := unix.AF_INET
	if p.Addr().Is6() {
		family = unix.AF_INET6
	}
	h := nl.NewIfAddrmsg(family)
	h.Index, h.Prefixlen = uint32(index), uint8(p.Bits())
	b := p.Addr().AsSlice()
	data := []nl.NetlinkRequestData{h, nl.NewRtAttr(unix.IFA_LOCAL, b), nl.NewRtAttr(unix.IFA_ADDRESS, b)}
	if family == unix.AF_INET && p.Bits() < 31 {
		data = append(data, nl.NewRtAttr(unix.IFA_BROADCAST, lastAddress(p)))
	}
	if family == unix.AF_INET6 && kind == unix.RTM_NEWADDR {
		data = append(data, nl.NewRtAttr(unix.IFA_FLAGS, nl.Uint32Attr(unix.IFA_F_NODAD)))
	}
	return data
}

func lastAddress(p netip.Prefix) []byte {
	b := p.Addr().AsSlice()
	for i := range b {
		for bit := range 8 {
			if 8*i+bit >= p.Bits() {
				b[i] |= 0x80 >> bit
			}
		}
	}
	return b
}
