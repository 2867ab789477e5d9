package nft

import (
	"fmt"
	"strings"

	"golang.org/x/sys/unix"
)

// Family is the address family of a table.
type Family uint8

// The families that nf_tables knows.
const (
	INet   Family = unix.NFPROTO_INET
	IPv4   Family = unix.NFPROTO_IPV4
	ARP    Family = unix.NFPROTO_ARP
	NetDev Family = unix.NFPROTO_NETDEV
	Bridge Family = unix.NFPROTO_BRIDGE
	IPv6   Family = unix.NFPROTO_IPV6
)

func familyNames() map[Family]string {
	return map[Family]string{INet: "inet", IPv4: "ip", ARP: "arp", NetDev: "netdev", Bridge: "bridge", IPv6: "ip6"}
}

// String is the family's word in nft's language.
func (f Family) String() string {
	if s, ok := familyNames()[f]; ok {
		return s
	}
	return fmt.Sprintf("family%d", uint8(f))
}

// ParseFamily reads a family's word in nft's language.
func ParseFamily(s string) (Family, error) {
	for f, name := range familyNames() {
		if name == s {
			return f, nil
		}
	}
	return 0, fmt.Errorf("nft family %q: use inet, ip, ip6, arp, bridge or netdev", s)
}

// hooks names the hooks of a family by number, as the kernel counts them.
func (f Family) hooks() []string {
	switch f {
	case ARP:
		return []string{"input", "output", "forward"}
	case NetDev:
		return []string{"ingress", "egress"}
	case INet:
		return []string{"prerouting", "input", "forward", "output", "postrouting", "ingress"}
	}
	return []string{"prerouting", "input", "forward", "output", "postrouting"}
}

func (f Family) hookNumber(name string) (uint32, error) {
	for i, h := range f.hooks() {
		if h == name {
			return uint32(i), nil
		}
	}
	return 0, fmt.Errorf("hook %q does not exist in family %s: use %s", name, f, strings.Join(f.hooks(), ", "))
}

func (f Family) hookName(n uint32) string {
	if h := f.hooks(); int64(n) < int64(len(h)) {
		return h[n]
	}
	return fmt.Sprintf("hook%d", n)
}

type namedPriority struct {
	name  string
	value int32
	hook  string // the one hook where it has the name; "" is all
}

// priorities are the names nft prints for ip, ip6 and inet. The bridge family has other numbers for the same names, so
// its priorities are printed as numbers.
func (f Family) priorities() []namedPriority {
	switch f {
	case Bridge, ARP, NetDev:
		return nil
	}
	return []namedPriority{
		{"raw", -300, ""}, {"mangle", -150, ""}, {"dstnat", -100, "prerouting"}, {"filter", 0, ""}, {"security", 50, ""}, {"srcnat", 100, "postrouting"},
	}
}

// priorityText prints a priority as `nft list` does: by name within ten of it, otherwise as a number.
func (f Family) priorityText(hook string, p int32) string {
	for _, n := range f.priorities() {
		switch d := p - n.value; {
		case n.hook != "" && n.hook != hook:
		case d == 0:
			return n.name
		case d > 0 && d <= 10:
			return fmt.Sprintf("%s + %d", n.name, d)
		case d < 0 && d >= -10:
			return fmt.Sprintf("%s - %d", n.name, -d)
		}
	}
	return fmt.Sprint(p)
}
