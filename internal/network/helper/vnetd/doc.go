// Package vnetd is the inside of taproom-vnet, the process that answers for all virtual networks.
//
// It starts as root, gives everything up, and then serves: its user is nobody else's, it has no capability, cannot get
// one, and cannot open a file. What it holds was handed to it: a listening control socket, and for each network a packet
// socket behind a locked filter and a lease file. So it outlives the daemon, and the next daemon finds it by connecting.
//
// Each network has one goroutine, one buffer and one token bucket. When the bucket is empty the network is not read, so
// the kernel drops the flood at the socket and the other networks notice nothing.
package vnetd
