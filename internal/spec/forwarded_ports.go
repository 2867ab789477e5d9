package spec

import (
	"encoding/xml"
	"net/netip"
	"strconv"
	"strings"
)

// TaproomNetworkNamespace is the namespace of what a network's <metadata> says to taproom itself. libvirt keeps it and does
// nothing.
const TaproomNetworkNamespace = "urn:taproom:network:1"

// ForwardedPorts has ports of the host lead to a guest.
type ForwardedPorts struct {
	Protocol  string     // tcp or udp
	Address   netip.Addr // of the host; the zero Addr is every one that it has, those of its loopback too
	Port, End uint16     // of the host, the last one included
	Target    netip.Addr // of the guest; the zero Addr where Guest names it
	Guest     string     // a domain, or a <host name=> of the network's <dhcp>
	ToPort    uint16     // of the guest, which Port leads to; those behind lead to those behind
}

const portForward = "metadata/taproom:forwards"

// MaxForwardedPorts is how many ports of the host one network's forwards may have.
const MaxForwardedPorts = 512

// PortForwards reads what <metadata> says of them: <forwards><forward protocol='tcp' address='192.0.2.1' port='8080'
// end='8090' to='web1' toPort='80'/></forwards>, in TaproomNetworkNamespace. As virsh net-metadata puts only the outer element
// into a namespace, those inside may have none.
func (n *Network) PortForwards() ([]ForwardedPorts, error) {
	if n.Metadata == nil || !strings.Contains(n.Metadata.Inner, "<") {
		return nil, nil
	}
	var all []ForwardedPorts
	var err error
	fail := func(reason string, args ...any) {
		if err == nil {
			err = invalid(portForward, reason, args...)
		}
	}
	inside := false
	broken := n.Metadata.each(n.Extra.Attrs, func(t token, depth int, uri string) {
		if depth == 0 && t.kind != tokenText {
			inside = uri == TaproomNetworkNamespace && t.kind == tokenStart && !t.empty
		}
		name := t.name[strings.IndexByte(t.name, ':')+1:]
		switch {
		case depth == 0 && t.kind == tokenStart && uri == TaproomNetworkNamespace:
			if name != "forwards" {
				fail("taproom knows no <%s> there; there is <taproom:forwards>, with a <taproom:forward/> for each port", t.name)
			}
			if a, ok := firstAttr(t.attrs); ok {
				fail("<%s> has no attribute %s", t.name, a)
			}
		case !inside || t.kind == tokenEnd:
		case t.kind == tokenText:
			if s := strings.TrimSpace(t.text); s != "" {
				fail("%q stands there by itself; write <taproom:forward port='8080' to='web1'/>", s)
			}
		case depth != 1 || name != "forward" || uri != TaproomNetworkNamespace && uri != "":
			fail("<%s> has no meaning there; there is <taproom:forward port='8080' to='web1'/>", t.name)
		default:
			f, reason := readPortForward(t.attrs)
			if reason != "" {
				fail("%s", reason)
			}
			all = append(all, f)
		}
	})
	if broken != nil {
		return nil, broken
	}
	return all, err
}

// firstAttr is the first attribute that declares no namespace.
func firstAttr(attrs []xml.Attr) (string, bool) {
	for _, a := range attrs {
		if !isDeclaration(a) {
			return a.Name.Local, true
		}
	}
	return "", false
}

// readPortForward reads the attributes of one, or says what is wrong with them.
func readPortForward(attrs []xml.Attr) (f ForwardedPorts, reason string) {
	f.Protocol = "tcp"
	said := map[string]string{}
	for _, a := range attrs {
		name, value := a.Name.Local, a.Value
		switch name {
		case "protocol":
			f.Protocol = value
		case "address", "to":
		case "port", "end", "toPort":
			if p, err := strconv.ParseUint(value, 10, 16); err != nil || p == 0 {
				return f, name + "='" + value + "' is no port: 1 to 65535"
			}
		default:
			if !isDeclaration(a) {
				return f, "<taproom:forward> has no attribute " + name + "; there are protocol, address, port, end, to and toPort"
			}
		}
		said[name] = value
	}
	port := func(name string, otherwise uint16) uint16 {
		if p, err := strconv.ParseUint(said[name], 10, 16); err == nil {
			return uint16(p)
		}
		return otherwise
	}
	f.Port = port("port", 0)
	f.End, f.ToPort = port("end", f.Port), port("toPort", f.Port)
	switch {
	case f.Port == 0:
		return f, "port is missing: which port of the host leads to the guest"
	case f.Protocol != "tcp" && f.Protocol != "udp":
		return f, "protocol='" + f.Protocol + "' is not forwarded; use tcp or udp"
	case f.End < f.Port:
		return f, "end='" + said["end"] + "' lies before port='" + said["port"] + "'"
	case int(f.ToPort)+int(f.End-f.Port) > 65535:
		return f, f.Ports() + " do not fit behind toPort='" + said["toPort"] + "': the last port is 65535"
	case strings.TrimSpace(said["to"]) == "":
		return f, "to is missing: the name of a guest, or an address of the network"
	}
	f.Guest = said["to"]
	if a, err := netip.ParseAddr(f.Guest); err == nil {
		f.Target, f.Guest = a, ""
	}
	if at := said["address"]; at != "" {
		a, err := netip.ParseAddr(at)
		if err != nil {
			return f, "address='" + at + "' is no address of the host's; write one as 192.0.2.1, or leave it out for all of them"
		}
		f.Address = a
	}
	return f, ""
}

// Ports is which ports of the host, for people.
func (f ForwardedPorts) Ports() string {
	s := f.Protocol + " " + strconv.Itoa(int(f.Port))
	if f.End > f.Port {
		s += "-" + strconv.Itoa(int(f.End))
	}
	return s
}

// At is which address and ports of the host, for people.
func (f ForwardedPorts) At() string {
	if !f.Address.IsValid() {
		return f.Ports()
	}
	return f.Ports() + " at " + f.Address.String()
}

// To is what it leads to, for people.
func (f ForwardedPorts) To() string {
	if f.Target.IsValid() {
		return f.Target.String()
	}
	return "'" + f.Guest + "'"
}
