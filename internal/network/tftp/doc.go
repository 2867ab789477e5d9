// Package tftp serves files to guests that boot from the network, and takes none: RFC 1350 with the options of RFC 2347,
// 2348 (blksize), 2349 (timeout, tsize) and 7440 (windowsize), in octet and netascii.
//
// Everything goes through the one socket that Serve is given, also the transfers, which RFC 1350 would have start from
// ports of their own: the process that serves may open no sockets. Clients do not mind, and answers pass a guest's
// firewall that expects them from where it asked.
//
// Files are opened below a directory descriptor and never outside of it, whatever a name or a symbolic link says, and only
// regular ones. A link that stays below the directory is followed.
//
// Anybody can forge the sender of a datagram, so nothing large goes to an address before it has answered: one data block
// of 512 bytes, or the options, and these three times at most. A session costs an open file and a kilobyte or two; their
// number is bounded for each client, each network and all networks together, the first few of each network apart, so that
// no network starves another. When all are taken, the oldest one whose client never answered makes room.
package tftp
