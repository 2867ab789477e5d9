// Package dhcp6 hands out IPv6 addresses on a virtual network (RFC 8415): a message, a configuration, a lease table and the
// time give a reply and lease changes, and nothing else happens.
//
// A lease belongs to an identity association of one network card: the MAC that the frame came from, the client's DUID and
// its IAID together. Cloned guests send the same DUID and IAID from two cards and are two clients, each with an address that
// depends on its own card; a system that is moved to another card gets another address. Only a card that has not been heard
// of itself is stood in for by a DUID that is made from its MAC, and only to find its fixed entry. A fixed address that a
// MAC identifies goes with the card: the firmware that boots from the network and the system it loads have different DUIDs
// and get it in turn.
//
// Guaranteed: an address is reported as a change before its reply may be sent, so whoever stores the one before sending the
// other never gives an address twice; the same client gets the same address as long as nobody else needs it, and where
// nothing is remembered one that depends on it alone; no message costs more for how many leases there are, how large a
// range is or how full. A SOLICIT leaves nothing behind: what is advertised is not kept back (RFC 8415, 18.3.9 asks for no
// more), because a REPLY may name another address than the one that was advertised, and so no flood of clients that never
// existed takes anything from those that do.
//
// An address that the configuration no longer allows is never prolonged and never taken away: its client is told what is
// left of it, that it is deprecated, and beside it the new one.
//
// Refused: relayed messages, temporary addresses and prefixes to delegate.
package dhcp6
