// Package dhcp4 hands out IPv4 addresses on a virtual network: a message, a configuration, a lease table and the time give
// a reply and lease changes, and nothing else happens.
//
// Guaranteed: an address is reported as a change before its reply may be sent, so whoever stores the one before sending the
// other never gives an address twice; the same network card gets the same address as long as nobody else needs it; a
// message costs the same however many leases there are and however often somebody invents a new card. Refused: relayed
// messages, BOOTP, and hardware that is not Ethernet.
package dhcp4
