// Package proto is what a host process and the first process of a disposable appliance (package inside) say to each other
// over a virtio-serial port, and the host's end of it, Client.
//
// A frame is a header of 12 bytes and a payload. The host makes requests, each with a number of its own, so that answers
// may come in any order; the guest never speaks unasked. A request ends with an answer or a failure. Before that, either
// side may send data (what a file or a program's input and output hold), and no more of it than the other has granted, so
// that one stream that nobody reads does not hold up another. A request that is given up is cancelled, and still
// ends with an answer or a failure.
//
// Neither side trusts the other. Every length is checked before anything is allocated; a guest that answers what was not
// asked, sends more than it was granted, or says nothing while it is asked, has broken its connection, and everything that
// waits on it fails with the reason. Nothing else is affected.
//
// The first two bytes of each header are a mark and a version. A side that meets another version says so, in a frame that
// every version can read.
package proto
