package dhcp4

import (
	"encoding/hex"
	"strings"

	"github.com/insomniacslk/dhcp/dhcpv4"

	"taproom/internal/network/lease"
	"taproom/internal/network/packet"
)

// identity tells clients apart: the network card first. Cloned guests share a client id but not a MAC; an ipvlan child
// shares the MAC but not the client id. An id that only repeats the MAC says nothing and counts as none.
type identity struct {
	mac packet.MAC
	id  string
}

// client is who is talking.
type client struct {
	identity
	sent string // the id as sent
	name string
	arch []uint16 // of its firmware, when it boots from the network
}

func newClient(m *dhcpv4.DHCPv4) client {
	c := client{sent: colons(m.Options.Get(dhcpv4.OptionClientIdentifier)), name: cleanName(string(m.Options.Get(dhcpv4.OptionHostName)))}
	c.mac = packet.MAC(m.ClientHWAddr)
	c.id = distinguishing(c.mac, c.sent)
	arch := m.Options.Get(dhcpv4.OptionClientSystemArchitectureType)
	for ; len(arch) > 1; arch = arch[2:] {
		c.arch = append(c.arch, number16(arch[:2]))
	}
	return c
}

func distinguishing(mac packet.MAC, id string) string {
	if id == "01:"+mac.String() {
		return ""
	}
	return id
}

func holder(l *lease.Lease) identity { return identity{l.MAC, distinguishing(l.MAC, l.ClientID)} }

// owns reports whether a lease is this client's. A boot ROM that sends no id and the system it loads are one client.
func (c identity) owns(l *lease.Lease) bool {
	h := holder(l)
	return h.mac == c.mac && (h.id == c.id || h.id == "" || c.id == "")
}

func colons(b []byte) string {
	var s strings.Builder
	for i := range b {
		if i > 0 {
			s.WriteByte(':')
		}
		s.WriteString(hex.EncodeToString(b[i : i+1]))
	}
	return s.String()
}

// idText returns a client id as the text it may have been.
func idText(sent string) string {
	b, err := hex.DecodeString(strings.ReplaceAll(sent, ":", ""))
	if err != nil {
		return ""
	}
	return strings.ToLower(string(b))
}

// cleanName returns a host name that is safe to print and to put into DNS, or nothing.
func cleanName(s string) string {
	s = strings.TrimRight(s, "\x00.")
	if len(s) > 255 {
		return ""
	}
	for _, r := range s {
		if !strings.ContainsRune("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_.", r) {
			return ""
		}
	}
	return s
}
