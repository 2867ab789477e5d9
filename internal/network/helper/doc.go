// Package helper is the daemon's side of taproom-vnet, the one unprivileged process that answers DHCP, router
// solicitations, DNS and TFTP for all networks of a daemon; package vnetd is its inside.
//
// Helper starts the process or finds it again, gives it sockets and lease files, and reads its leases and events. The
// process holds nothing but what it was given. It outlives the daemon, and a newer daemon replaces it without losing a
// lease or a question: what arrives meanwhile waits in the new process' sockets.
//
// Guaranteed: an address is written to stable storage before a client hears that it may use it; the same network card gets
// the same address as long as nobody else needs it; a network that floods delays no other.
package helper
