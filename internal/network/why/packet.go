package why

import (
	"net/netip"
	"slices"
	"strconv"
	"strings"
)

// Packet is what rules look at.
type Packet struct {
	In, Out  string // names of links; "" where it has none, or none that is known
	Src, Dst netip.Addr
	Proto    string // tcp, udp, icmp or ipv6-icmp
	Sport    uint16
	Dport    uint16
	State    string // of its connection: new or established
	Local    bool   // it is for this host
}

// Tri is an answer that may be missing.
type Tri int

// The answers.
const (
	No Tri = iota
	Maybe
	Yes
)

func answer(b bool) Tri {
	if b {
		return Yes
	}
	return No
}

// Cond is one condition of a rule. Key says what it looks at; one that is not known here is never sure.
type Cond struct {
	Key   string // in, out, src, dst, proto, sport, dport or state
	Not   bool
	Value string // a name (with + or * at the end any that begins so), a prefix, a list of states or ports
}

// holds says whether a packet fits.
func (c Cond) holds(p Packet) Tri {
	t := c.plain(p)
	if c.Not {
		return Yes - t
	}
	return t
}

func (c Cond) plain(p Packet) Tri {
	switch c.Key {
	case "in":
		return sameName(c.Value, p.In)
	case "out":
		return sameName(c.Value, p.Out)
	case "src":
		return inside(c.Value, p.Src)
	case "dst":
		return inside(c.Value, p.Dst)
	case "proto":
		return sameProto(c.Value, p.Proto)
	case "sport":
		return onePort(c.Value, p.Sport)
	case "dport":
		return onePort(c.Value, p.Dport)
	case "--dst-type":
		return p.kind(c.Value)
	case "state":
		return answer(slices.Contains(strings.Split(strings.ToLower(c.Value), ","), p.State))
	}
	return Maybe
}

// kind says whether the destination is of one of iptables' types of addresses.
func (p Packet) kind(types string) Tri {
	for one := range strings.SplitSeq(types, ",") {
		fits := Maybe
		broadcast := p.Dst == netip.AddrFrom4([4]byte{255, 255, 255, 255})
		switch one {
		case "LOCAL":
			fits = answer(p.Local && !broadcast)
		case "MULTICAST":
			fits = answer(p.Dst.IsMulticast())
		case "BROADCAST":
			fits = answer(broadcast)
		}
		if fits != No {
			return fits
		}
	}
	return No
}

func sameName(want, got string) Tri {
	if begin := strings.TrimRight(want, "+*"); begin != want {
		return answer(got != "" && strings.HasPrefix(got, begin))
	}
	return answer(want == got)
}

func inside(value string, a netip.Addr) Tri {
	if !a.IsValid() {
		return Maybe
	}
	p, err := parsePrefix(value)
	if err != nil {
		return Maybe
	}
	return answer(p.Contains(a))
}

// parsePrefix reads an address with or without a length, or with a mask of four numbers.
func parsePrefix(s string) (netip.Prefix, error) {
	addr, length, ok := strings.Cut(s, "/")
	a, err := netip.ParseAddr(addr)
	if err != nil || !ok {
		return netip.PrefixFrom(a, a.BitLen()), err
	}
	if mask, err := netip.ParseAddr(length); err == nil && mask.Is4() && a.Is4() {
		bits := 0
		for _, b := range mask.As4() {
			for ; b&0x80 != 0; b <<= 1 {
				bits++
			}
		}
		return a.Prefix(bits)
	}
	n, err := strconv.Atoi(length)
	if err != nil {
		return netip.Prefix{}, err
	}
	return a.Prefix(n)
}

func sameProto(want, got string) Tri {
	switch want {
	case "all", "0":
		return Yes
	case "icmpv6", "58":
		want = "ipv6-icmp"
	case "6":
		want = "tcp"
	case "17":
		want = "udp"
	case "1":
		want = "icmp"
	}
	return answer(want == got)
}

// onePort reads "53", "1024:65535", "1024-65535" and lists of them.
func onePort(value string, port uint16) Tri {
	for one := range strings.SplitSeq(value, ",") {
		low, high, ok := strings.Cut(strings.ReplaceAll(one, "-", ":"), ":")
		if !ok {
			high = low
		}
		l, err1 := strconv.ParseUint(low, 10, 16)
		h, err2 := strconv.ParseUint(high, 10, 16)
		if err1 != nil || err2 != nil {
			return Maybe
		}
		if uint64(port) >= l && uint64(port) <= h {
			return Yes
		}
	}
	return No
}
