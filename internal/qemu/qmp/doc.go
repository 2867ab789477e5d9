// Package qmp is a client of QEMU's machine protocol: JSON messages, one per line, over a unix socket.
//
// A Client serves any number of goroutines. Replies are matched to commands by id, so they may come out of order and a
// caller that gave up does not disturb the next one, nor does a client that went away before its reply came. Events are
// queued for one consumer in the order in which QEMU sent them.
//
// The peer is not trusted: a guest that took over its QEMU writes to this socket. A line has a maximum length, the event
// queue has a maximum length, and whatever is not QMP ends the connection with an error that every waiting caller gets.
// The package never sends a command again and never reconnects: what a lost command did is for the caller to observe.
package qmp
