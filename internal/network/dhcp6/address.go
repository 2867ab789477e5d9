package dhcp6

import (
	"encoding/binary"
	"hash/fnv"
	"net/netip"
)

// halves returns the subnet and the interface identifier of an address; in the numbers they are, nothing says where one ends.
func halves(a netip.Addr) (high, low uint64) {
	b := a.As16()
	return binary.BigEndian.Uint64(b[:]), binary.BigEndian.Uint64(b[8:])
}

// has reports whether an address is in a range.
func (r *Range) has(a netip.Addr) bool { return r.Start.Compare(a) <= 0 && a.Compare(r.End) <= 0 }

// index returns the place of an address that is in a range, which holds up to 2^64.
func (r *Range) index(a netip.Addr) uint64 {
	_, start := halves(r.Start)
	_, low := halves(a)
	return low - start // the halves above differ by what this borrows
}

// nth is the inverse of index.
func (r *Range) nth(i uint64) netip.Addr {
	high, low := halves(r.Start)
	sum := low + i
	if sum < low {
		high++
	}
	var b [16]byte
	binary.BigEndian.PutUint64(b[:], high)
	binary.BigEndian.PutUint64(b[8:], sum)
	return netip.AddrFrom16(b)
}

// seed is where an identity's search for an address begins. It depends on nothing that a restart or a lost file changes.
func (id identity) seed() uint64 {
	h := fnv.New64a()
	_, _ = h.Write(id.mac[:]) // never fails (hash.Hash)
	_, _ = h.Write([]byte(id.duid))
	_, _ = h.Write(binary.BigEndian.AppendUint32(nil, id.iaid))
	s := h.Sum64() // its high bits depend little on what came last: mix (SplitMix64)
	s = (s ^ s>>30) * 0xbf58476d1ce4e5b9
	s = (s ^ s>>27) * 0x94d049bb133111eb
	return s ^ s>>31
}
