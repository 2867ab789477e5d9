// Package dhcp hands out IPv4 addresses on virtual networks.
//
// It has three layers. Server is the pure core: a message, a configuration, a lease table and the time give a reply and
// lease changes, and nothing else happens. Package vnetd around it is the one unprivileged process that answers for all
// networks; it holds nothing but descriptors that it was given. Helper, here, is the daemon's side of that process: it
// starts it or finds it again, gives it sockets and lease files, and reads its leases and events.
//
// Guaranteed: an address is written to stable storage before a client hears that it may use it; the same network card
// gets the same address as long as nobody else needs it; replies are whole Ethernet frames with full checksums, so
// neither an old client nor the host's firewall has a say in them. Refused: relayed messages, BOOTP, and hardware that
// is not Ethernet.
package dhcp
