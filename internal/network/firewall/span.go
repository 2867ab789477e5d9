package firewall

import (
	"fmt"
	"net/netip"
	"strconv"
	"strings"
)

// Ports are from First to Last; the zero value is none.
type Ports struct{ First, Last uint16 }

// String is "1024-65535", or "80".
func (p Ports) String() string {
	if p.First == p.Last {
		return strconv.Itoa(int(p.First))
	}
	return fmt.Sprintf("%d-%d", p.First, p.Last)
}

// ParsePorts reads "1024-65535", or "80". An error is an ErrElement.
func ParsePorts(s string) (Ports, error) {
	first, last, ranged := strings.Cut(s, "-")
	if !ranged {
		last = first
	}
	a, err1 := strconv.ParseUint(first, 10, 16)
	b, err2 := strconv.ParseUint(last, 10, 16)
	if err1 != nil || err2 != nil || a == 0 || b < a {
		return Ports{}, fmt.Errorf("%w: %q is no range of ports", ErrElement, s)
	}
	return Ports{uint16(a), uint16(b)}, nil
}

// Addresses are from First to Last; the zero value is none.
type Addresses struct{ First, Last netip.Addr }

// String is "192.0.2.1-192.0.2.9", or "192.0.2.1".
func (a Addresses) String() string {
	if a.First == a.Last {
		return a.First.String()
	}
	return a.First.String() + "-" + a.Last.String()
}

// ParseAddresses reads "192.0.2.1-192.0.2.9", "192.0.2.0/29" or "192.0.2.1". An error is an
// ErrElement.
func ParseAddresses(s string) (a Addresses, err error) {
	if p, err := netip.ParsePrefix(s); err == nil {
		last := p.Addr().As4()
		for i := p.Bits(); i < 32; i++ {
			last[i/8] |= 0x80 >> (i % 8)
		}
		return Addresses{p.Addr(), netip.AddrFrom4(last)}, nil
	}
	first, last, ranged := strings.Cut(s, "-")
	if !ranged {
		last = first
	}
	if a.First, err = netip.ParseAddr(first); err == nil {
		a.Last, err = netip.ParseAddr(last)
	}
	if err != nil || !a.First.Is4() || !a.Last.Is4() || a.Last.Less(a.First) {
		return Addresses{}, fmt.Errorf("%w: %q is no range of IPv4 addresses", ErrElement, s)
	}
	return a, nil
}

// Sources are the elements by which the guests of a subnet, behind NAT already, look like these addresses and ports to the
// outside. Without addresses the outgoing link's is used; with them, subnet is of IPv4. Ports go with TCP and UDP alone.
func Sources(subnet netip.Prefix, to Addresses, ports Ports) []Element {
	m := Member{V6: subnet.Addr().Is6(), Net: subnet.Masked(), Ports: ports, Sources: to}
	if !to.First.IsValid() {
		m.Kind = KindPorts
		return []Element{m.Element()}
	}
	withPorts := m
	m.Kind, m.Ports, withPorts.Kind = KindSNAT, Ports{}, KindSNATPorts
	return []Element{m.Element(), withPorts.Element()}
}
