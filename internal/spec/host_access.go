package spec

import (
	"encoding/xml"
	"net/netip"
	"slices"
	"strings"
)

// TaproomNamespace is the namespace of what a domain's <metadata> says to taproom itself. libvirt keeps it and does nothing.
const TaproomNamespace = "urn:taproom:domain:1"

// HostAccess asks for a link of the host's own beside a guest's macvtaps on the same link, over which the two reach each
// other.
type HostAccess struct {
	Dev       string         // the link that the guest's macvtaps lie on
	Addresses []netip.Prefix // of the host there, in the document's order
}

const hostAccess = "metadata/taproom:hostAccess"

// HostAccess reads what <metadata> says of it: <hostAccess dev='eth0'><address>192.0.2.1/24</address></hostAccess>, in
// TaproomNamespace, once for each link. What is inside may have no namespace: virsh metadata puts only the outer element in one.
func (d *Domain) HostAccess() ([]HostAccess, error) {
	if d.Metadata == nil || !strings.Contains(d.Metadata.Inner, "<") {
		return nil, nil
	}
	all, err := d.readHostAccess()
	if err != nil {
		return nil, err
	}
	for i, a := range all {
		if slices.ContainsFunc(all[:i], func(b HostAccess) bool { return b.Dev == a.Dev }) {
			return nil, invalid(hostAccess, "dev='%s' is given twice; put its addresses into one element", a.Dev)
		}
		if err := d.reaches(a.Dev); err != nil {
			return nil, err
		}
		if len(a.Addresses) == 0 {
			return nil, invalid(hostAccess, "dev='%s' has no address; add <taproom:address>192.0.2.1/24</taproom:address>, with one of the host's own", a.Dev)
		}
	}
	for i, a := range all {
		for j, p := range a.Addresses {
			same := func(q netip.Prefix) bool { return q.Addr() == p.Addr() }
			twice := slices.ContainsFunc(a.Addresses[:j], same)
			for _, b := range all[:i] {
				twice = twice || slices.ContainsFunc(b.Addresses, same)
			}
			if twice {
				return nil, invalid(hostAccess, "address %s is given twice", p.Addr())
			}
		}
	}
	return all, nil
}

// readHostAccess takes the elements apart.
func (d *Domain) readHostAccess() (all []HostAccess, err error) {
	inside, text := false, ""
	fail := func(reason string, args ...any) {
		if err == nil {
			err = invalid(hostAccess, reason, args...)
		}
	}
	broken := d.Metadata.each(d.Extra.Attrs, func(t token, depth int, uri string) {
		if depth == 0 && t.kind != tokenText {
			inside = uri == TaproomNamespace && t.kind == tokenStart && !t.empty
		}
		name := t.name[strings.IndexByte(t.name, ':')+1:]
		switch {
		case depth == 0 && t.kind == tokenStart && uri == TaproomNamespace && name == "macFilter": // see MACFilters
		case depth == 0 && t.kind == tokenStart && uri == TaproomNamespace:
			if name != "hostAccess" {
				fail("taproom knows no <%s>; there is <taproom:hostAccess>", t.name)
			}
			one := HostAccess{}
			for _, a := range t.attrs {
				switch {
				case a.Name.Local == "dev":
					one.Dev = a.Value
				case !isDeclaration(a):
					fail("it has no attribute %s; there is dev", a.Name.Local)
				}
			}
			if one.Dev == "" {
				fail("dev is missing; name the link that the guest's macvtap lies on (<source dev=>)")
			}
			all = append(all, one)
		case !inside:
		case t.kind == tokenStart && (depth != 1 || uri != TaproomNamespace && uri != "" || name != "address" || slices.ContainsFunc(t.attrs, func(a xml.Attr) bool { return !isDeclaration(a) })):
			fail("<%s> has no meaning there; there is <taproom:address>192.0.2.1/24</taproom:address>", t.name)
		case t.kind == tokenText && depth == 1 && strings.TrimSpace(t.text) != "":
			fail("%q stands there by itself; write <taproom:address>%[1]s</taproom:address>", strings.TrimSpace(t.text))
		case t.kind == tokenText && depth == 2:
			text += t.text
		case depth == 1 && (t.kind == tokenEnd || t.empty):
			p, reason := hostPrefix(strings.TrimSpace(text))
			if reason != "" {
				fail("address %q %s", strings.TrimSpace(text), reason)
			}
			last := &all[len(all)-1]
			last.Addresses, text = append(last.Addresses, p), ""
		}
	})
	if broken != nil {
		return nil, broken
	}
	return all, err
}

// hostPrefix reads an address that a link of the host can have, with the length of its network's prefix, or says why it is
// none.
func hostPrefix(s string) (p netip.Prefix, reason string) {
	if a, err := netip.ParseAddr(s); err == nil && !strings.Contains(s, "/") {
		return p, "has no prefix; write the length of its network's after it, as in " + a.WithZone("").String() + "/" + map[bool]string{true: "24", false: "64"}[a.Is4()]
	}
	p, err := netip.ParsePrefix(s)
	a := p.Addr()
	switch {
	case err != nil:
		return p, "is none; write one with the length of its network's prefix, as in 192.0.2.1/24"
	case a.Is4In6():
		return p, "is one of IPv4 written as one of IPv6; write " + a.Unmap().String()
	case a.IsMulticast(), a.IsUnspecified(), a.IsLoopback(), a == netip.AddrFrom4([4]byte{255, 255, 255, 255}), p.Bits() == 0:
		return p, "cannot be a host's on a network"
	case a.Is6() && a.IsLinkLocalUnicast():
		return p, "is link-local; choose one that is not, as of fd00::/8"
	case a.Is4() && p.Bits() < 31 && (a == p.Masked().Addr() || !p.Contains(a.Next())):
		return p, "stands for the network itself; choose one of its hosts'"
	}
	return p, ""
}

// reaches makes sure that the guest has a NIC on that link which the host can reach.
func (d *Domain) reaches(dev string) error {
	var others []string
	if d.Devices != nil {
		for _, nic := range d.Devices.Interfaces {
			switch {
			case nic.Type != "direct" || nic.Source == nil || nic.Source.Dev != dev:
			case nic.Source.Mode == "bridge":
				return nil
			case nic.Source.Mode == "":
				others = append(others, "vepa")
			default:
				others = append(others, nic.Source.Mode)
			}
		}
	}
	if len(others) > 0 {
		return invalid(hostAccess, "no NIC on %s has mode='bridge', which alone reaches the host (%s does not); write <source dev='%s' mode='bridge'/>, or take it out (virsh metadata DOMAIN %s --remove)", dev, strings.Join(others, ", "), dev, TaproomNamespace)
	}
	return invalid(hostAccess, "no NIC of this guest is on %s; there must be one of type='direct' with <source dev='%s' mode='bridge'/>; or take it out (virsh metadata DOMAIN %s --remove)", dev, dev, TaproomNamespace)
}

func (d *Domain) checkHostAccess() error {
	_, err := d.HostAccess()
	return err
}
