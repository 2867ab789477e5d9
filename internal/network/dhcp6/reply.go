package dhcp6

import (
	"encoding/binary"
	"net"
	"net/netip"
	"slices"
	"time"

	"github.com/insomniacslk/dhcp/dhcpv6"
	"github.com/insomniacslk/dhcp/iana"
)

// Status codes (RFC 8415, 21.13).
const (
	success       = iana.StatusSuccess
	noAddrsAvail  = iana.StatusNoAddrsAvail
	noBinding     = iana.StatusNoBinding
	notOnLink     = iana.StatusNotOnLink
	useMulticast  = iana.StatusUseMulticast
	noPrefixAvail = iana.StatusNoPrefixAvail
)

// begin starts a reply to where the client is.
func (x *exchange) begin(kind dhcpv6.MessageType) {
	x.reply = &Reply{
		To: x.p.Source, Target: x.p.From,
		Message: &dhcpv6.Message{MessageType: kind, TransactionID: x.p.transaction},
	}
	x.room = maxMessage - dhcpv6.MessageHeaderSize
	if x.p.client != nil {
		x.add(dhcpv6.OptClientID(opaque(x.p.client)))
	}
	x.add(dhcpv6.OptServerID(opaque(x.config.DUID)))
}

// opaque is a DUID that comes out as it went in, whatever it means.
func opaque(duid []byte) dhcpv6.DUID {
	return &dhcpv6.DUIDOpaque{Type: dhcpv6.DUIDType(binary.BigEndian.Uint16(duid)), Data: duid[2:]}
}

// add appends an option.
func (x *exchange) add(o dhcpv6.Option) {
	x.room -= optionHeader + len(o.ToBytes())
	x.reply.Message.AddOption(o)
}

// offer appends an option if the client wants it and there is room.
func (x *exchange) offer(o dhcpv6.Option) {
	if x.p.wants(o.Code()) && optionHeader+len(o.ToBytes()) <= x.room {
		x.add(o)
	}
}

func preference() dhcpv6.Option { return dhcpv6.OptPreference(255) }

func status(code iana.StatusCode) *dhcpv6.OptStatusCode {
	return &dhcpv6.OptStatusCode{StatusCode: code}
}

func (x *exchange) status(code iana.StatusCode) { x.add(status(code)) }

// unavailable says that there is nothing for an identity association of a kind.
func unavailable(kind dhcpv6.OptionCode) iana.StatusCode {
	if kind == dhcpv6.OptionIAPD {
		return noPrefixAvail
	}
	return noAddrsAvail
}

// deny answers about an identity association with a status alone.
func (x *exchange) deny(a ia, code iana.StatusCode) {
	options := dhcpv6.Options{status(code)}
	switch a.kind {
	case dhcpv6.OptionIAPD:
		x.add(&dhcpv6.OptIAPD{IaId: a.id, Options: dhcpv6.PDOptions{Options: options}})
	case dhcpv6.OptionIATA:
		x.add(&dhcpv6.OptIATA{IaId: a.id, Options: dhcpv6.IdentityOptions{Options: options}})
	default:
		x.add(&dhcpv6.OptIANA{IaId: a.id, Options: dhcpv6.IdentityOptions{Options: options}})
	}
}

// grant answers about an identity association: the address it gets, if any, those that it is losing with what is left of
// their time, and those it must stop to use. A client asks again after half of the time, and asks everybody after four
// fifths (RFC 8415, 21.4).
func (x *exchange) grant(a ia, got netip.Addr, running []*entry, lost []netip.Addr) {
	o := &dhcpv6.OptIANA{IaId: a.id}
	put := func(addr netip.Addr, preferred, valid uint32) {
		o.Options.Add(&dhcpv6.OptIAAddress{IPv6Addr: net.IP(addr.AsSlice()), PreferredLifetime: seconds(preferred), ValidLifetime: seconds(valid)})
	}
	var next uint32
	if got.IsValid() {
		next = x.pool.seconds(got, x.client.host)
		put(got, next, next)
	}
	for _, e := range running {
		left := uint32(min(e.Ends-x.now, Forever))
		put(e.IP, 0, left)
		if !got.IsValid() {
			next = left
		}
	}
	for _, addr := range lost {
		put(addr, 0, 0)
	}
	o.T1, o.T2 = seconds(next/2), seconds(uint32(uint64(next)*4/5))
	if next == Forever {
		o.T1, o.T2 = seconds(Forever), seconds(Forever)
	}
	x.add(o)
}

func seconds(n uint32) time.Duration { return time.Duration(n) * time.Second }

// The bounds of the information refresh time (RFC 8415, 7.6).
const (
	minRefresh = 600
	maxRefresh = 86400
)

// tell adds everything else that the client wants to know, the most important first.
func (x *exchange) tell() {
	x.fqdn()
	for _, o := range x.options {
		x.offer(o)
	}
	if url := x.bootURL(); url != "" && !x.replaced(dhcpv6.OptionBootfileURL) {
		x.offer(dhcpv6.OptBootFileURL(url))
	}
	if x.p.Type == dhcpv6.MessageTypeInformationRequest && !x.replaced(dhcpv6.OptionInformationRefreshTime) {
		refresh := min(max(x.config.lease(0), minRefresh), maxRefresh) // with a lease, a new configuration comes at its renewal
		x.offer(dhcpv6.OptInformationRefreshTime(seconds(refresh)))
	}
}

// replaced reports whether the configuration has an option of its own in place of what the server would say.
func (s *Server) replaced(code dhcpv6.OptionCode) bool {
	return slices.ContainsFunc(s.config.Options, func(o Option) bool { return dhcpv6.OptionCode(o.Code) == code })
}

// static returns the options that are the same for every client.
func (s *Server) static() []dhcpv6.Option {
	var all []dhcpv6.Option
	put := func(code dhcpv6.OptionCode, value []byte) {
		if len(value) > 0 && !s.replaced(code) {
			all = append(all, &dhcpv6.OptionGeneric{OptionCode: code, OptionData: value})
		}
	}
	var dns, search, ntp []byte
	for _, a := range s.config.DNS {
		dns = append(dns, a.AsSlice()...)
	}
	for _, name := range s.config.Search {
		search = append(search, encodeName(name)...)
	}
	for _, a := range s.config.NTP { // RFC 5908, 4.1
		ntp = append(append(ntp, 0, byte(dhcpv6.NTPSuboptionSrvAddrCode), 0, 16), a.AsSlice()...)
	}
	put(dhcpv6.OptionDNSRecursiveNameServer, dns)
	put(dhcpv6.OptionDomainSearchList, search)
	put(dhcpv6.OptionNTPServer, ntp)
	for _, o := range s.config.Options {
		all = append(all, &dhcpv6.OptionGeneric{OptionCode: dhcpv6.OptionCode(o.Code), OptionData: o.Value})
	}
	return all
}

// bootURL returns what a client loads: by its architecture, which it lists in the order it prefers, or what is for all.
func (x *exchange) bootURL() string {
	for _, arch := range x.p.arch {
		for _, b := range x.config.BootURL {
			if slices.Contains(b.Arch, arch) {
				return b.URL
			}
		}
	}
	for _, b := range x.config.BootURL {
		if len(b.Arch) == 0 {
			return b.URL
		}
	}
	return ""
}

// Flags of the client FQDN option (RFC 4704, 4.1).
const (
	fqdnServer   = 1 // the server updates the name's address
	fqdnOverride = 2 // against what the client wanted
	fqdnNone     = 4 // the server updates nothing
)

// fqdn tells a client that asked for it the name that it is known by (RFC 4704, 6). The network's DNS learns it from the
// lease, so it is the server that updates, unless the client wants nobody to.
func (x *exchange) fqdn() {
	name := x.hostname()
	if len(x.p.fqdn) == 0 || !x.p.lists || name == "" {
		return
	}
	flags := byte(fqdnServer)
	switch {
	case x.p.fqdn[0]&fqdnNone != 0:
		flags = fqdnNone
	case x.p.fqdn[0]&fqdnServer == 0:
		flags |= fqdnOverride
	}
	whole := firstLabel(name) != name
	if !whole && len(x.config.Search) > 0 {
		name, whole = name+"."+x.config.Search[0], true
	}
	b := encodeName(name)
	if b == nil {
		return
	}
	if !whole {
		b = b[:len(b)-1] // without a domain it is not terminated (RFC 4704, 4.2)
	}
	x.offer(&dhcpv6.OptionGeneric{OptionCode: dhcpv6.OptionFQDN, OptionData: append([]byte{flags}, b...)})
}
