package dhcp6

import (
	"net/netip"
	"strings"

	"taproom/internal/network/packet"
)

// client is who is talking.
type client struct {
	mac   packet.MAC
	duid  string
	name  string // that it gives itself
	host  *Host
	ias   []uint32     // all that it talks about
	given []netip.Addr // for those that it has been answered about
}

func (c *client) identity(iaid uint32) identity { return identity{c.mac, c.duid, iaid} }

// host returns the client's entry, if it has one: by its DUID, its network card or the name that it gives itself. A DUID
// names a card too, but that may be another one of the same machine, or the one that the machine is a clone of. It counts
// only as long as that card has not been heard of itself.
func (p *pool) host(c *client, duid []byte) *Host {
	if h := p.byDUID[c.duid]; h != nil {
		return h
	}
	if h := p.byMAC[c.mac]; h != nil {
		return h
	}
	if other, ok := duidMAC(duid); ok && p.leases.cards[other] == 0 {
		if h := p.byMAC[other]; h != nil {
			return h
		}
	}
	return p.byName[strings.ToLower(c.name)]
}
