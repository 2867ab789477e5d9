package host

import (
	"encoding/binary"
	"errors"
	"fmt"
	"net/netip"

	"github.com/vishvananda/netlink/nl"
	"golang.org/x/sys/unix"
)

// Forever is the lifetime of an address that does not end, in seconds.
const Forever = ^uint32(0)

// settableFlags are those flags of an address that who adds it may set; the others the kernel sets itself.
const settableFlags = unix.IFA_F_NODAD | unix.IFA_F_OPTIMISTIC | unix.IFA_F_HOMEADDRESS | unix.IFA_F_MANAGETEMPADDR |
	unix.IFA_F_NOPREFIXROUTE | unix.IFA_F_MCAUTOJOIN

// ifaProto is IFA_PROTO: who gave the address (Linux 5.18).
const ifaProto = 11

// HostAddress is an address with all that the kernel lets be set of it, so that another link can be given the same.
type HostAddress struct {
	Prefix    netip.Prefix `json:"prefix"`
	Peer      netip.Addr   `json:"peer,omitzero"`      // the other end, where the prefix is its
	Broadcast netip.Addr   `json:"broadcast,omitzero"` // of IPv4
	Label     string       `json:"label,omitempty"`    // of IPv4: the link's name, or that with a colon and more
	Scope     uint8        `json:"scope,omitempty"`    // RT_SCOPE_*
	Flags     uint32       `json:"flags,omitempty"`    // IFA_F_* that can be set
	Metric    uint32       `json:"metric,omitempty"`   // of the route to its prefix
	Proto     uint8        `json:"proto,omitempty"`    // IFAPROT_*
	Valid     uint32       `json:"valid"`              // seconds left; Forever
	Preferred uint32       `json:"preferred"`          // seconds left; Forever
}

// Holds reports whether the kernel makes the route to the address's prefix by itself.
func (a HostAddress) Holds() bool { return a.Flags&unix.IFA_F_NOPREFIXROUTE == 0 }

// HostAddresses lists a link's addresses in the kernel's order: adding them in it gives the same one the first place. Those
// of IPv6 that somebody else turned out to have are left out. ErrPartial as for Addresses.
func (k *Kernel) HostAddresses(index int) ([]HostAddress, error) {
	k.Step("address list")
	h := nl.NewIfAddrmsg(unix.AF_UNSPEC)
	h.Index = uint32(index)
	msgs, err := k.get(unix.RTM_GETADDR, unix.NLM_F_DUMP, unix.RTM_NEWADDR, h)
	if err != nil {
		return nil, fmt.Errorf("list addresses of link %d: %w", index, err)
	}
	var out []HostAddress
	for _, m := range msgs {
		of, a, ok, err := parseHostAddress(m)
		if err != nil {
			return nil, err
		}
		if ok && of == index {
			out = append(out, a)
		}
	}
	return out, nil
}

func parseHostAddress(m []byte) (index int, a HostAddress, ok bool, err error) {
	if len(m) < unix.SizeofIfAddrmsg {
		return 0, a, false, errors.New("the kernel sent an address message that is too short")
	}
	h := nl.DeserializeIfAddrmsg(m)
	found, err := attrMap(m[unix.SizeofIfAddrmsg:])
	if err != nil {
		return 0, a, false, fmt.Errorf("read an address message: %w", err)
	}
	a = HostAddress{Scope: h.Scope, Flags: uint32(h.Flags), Valid: Forever, Preferred: Forever}
	if f, ok := found[unix.IFA_FLAGS]; ok {
		a.Flags = uint32Value(f)
	}
	if a.Flags&unix.IFA_F_DADFAILED != 0 {
		return 0, a, false, nil
	}
	a.Flags &= settableFlags
	own, ok := netip.AddrFromSlice(found[unix.IFA_LOCAL])
	other, has := netip.AddrFromSlice(found[unix.IFA_ADDRESS])
	switch {
	case !ok && !has:
		return 0, a, false, nil // a family without IP addresses
	case !ok:
		own = other
	case has && own != other:
		a.Peer = other
	}
	a.Prefix = netip.PrefixFrom(own, int(h.Prefixlen))
	a.Broadcast, _ = netip.AddrFromSlice(found[unix.IFA_BROADCAST])
	a.Label = unix.ByteSliceToString(found[unix.IFA_LABEL])
	a.Metric = uint32Value(found[unix.IFA_RT_PRIORITY])
	if p := found[ifaProto]; len(p) == 1 {
		a.Proto = p[0]
	}
	if c := found[unix.IFA_CACHEINFO]; len(c) >= 8 { // struct ifa_cacheinfo
		a.Preferred, a.Valid = binary.NativeEndian.Uint32(c), binary.NativeEndian.Uint32(c[4:])
	}
	return int(h.Index), a, a.Prefix.IsValid(), nil
}

// AddHostAddress gives a link an address. One that it has is not an error, and stays as it is.
func (k *Kernel) AddHostAddress(index int, a HostAddress) error {
	k.Step("address add")
	h, data := hostAddressMessage(index, a)
	h.Scope = a.Scope
	if a.Broadcast.IsValid() {
		data = append(data, nl.NewRtAttr(unix.IFA_BROADCAST, a.Broadcast.AsSlice()))
	}
	if a.Label != "" {
		data = append(data, nl.NewRtAttr(unix.IFA_LABEL, nl.ZeroTerminated(a.Label)))
	}
	if a.Metric != 0 {
		data = append(data, nl.NewRtAttr(unix.IFA_RT_PRIORITY, nl.Uint32Attr(a.Metric)))
	}
	if a.Proto != 0 {
		data = append(data, nl.NewRtAttr(ifaProto, []byte{a.Proto}))
	}
	life := make([]byte, 16)
	binary.NativeEndian.PutUint32(life, a.Preferred)
	binary.NativeEndian.PutUint32(life[4:], a.Valid)
	data = append(data, nl.NewRtAttr(unix.IFA_FLAGS, nl.Uint32Attr(a.Flags&settableFlags)), nl.NewRtAttr(unix.IFA_CACHEINFO, life))
	err := k.do(unix.RTM_NEWADDR, unix.NLM_F_CREATE|unix.NLM_F_EXCL, data...)
	if err != nil && !errors.Is(err, unix.EEXIST) {
		return fmt.Errorf("add address %s to link %d: %w", a.Prefix, index, err)
	}
	return nil
}

// DelHostAddress takes an address off a link. One that is not there is not an error.
func (k *Kernel) DelHostAddress(index int, a HostAddress) error {
	k.Step("address delete")
	_, data := hostAddressMessage(index, a)
	err := k.do(unix.RTM_DELADDR, 0, data...)
	if err != nil && !errors.Is(err, unix.EADDRNOTAVAIL) && !errors.Is(err, unix.ENODEV) {
		return fmt.Errorf("remove address %s from link %d: %w", a.Prefix, index, err)
	}
	return nil
}

// hostAddressMessage is what says which address is meant; the first part is the header.
func hostAddressMessage(index int, a HostAddress) (*nl.IfAddrmsg, []nl.NetlinkRequestData) {
	family := unix.AF_INET
	if a.Prefix.Addr().Is6() {
		family = unix.AF_INET6
	}
	h := nl.NewIfAddrmsg(family)
	h.Index, h.Prefixlen = uint32(index), uint8(a.Prefix.Bits())
	own := a.Prefix.Addr().AsSlice()
	other := own
	if a.Peer.IsValid() {
		other = a.Peer.AsSlice()
	}
	return h, []nl.NetlinkRequestData{h, nl.NewRtAttr(unix.IFA_LOCAL, own), nl.NewRtAttr(unix.IFA_ADDRESS, other)}
}
