// Package remote describes libvirt's remote protocol: how messages are framed, which procedures there are, and what their
// arguments and results look like on the wire. Server and client both use it; there is no second description.
//
// Numbers and layouts are facts of libvirt's public protocol. A C character array travels as an array of ints, an
// unsigned char or short as an int, a remote_string as an optional string.
package remote
