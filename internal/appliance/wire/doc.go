// Package wire is what the host and the agent inside a guest say to each other over a virtio-serial port.
//
// A frame is a length (four bytes, big endian) and that many bytes of JSON. Neither side trusts the other: a length is
// checked before anything is allocated, and unknown fields are ignored.
//
// A serial port has no connections. When a host process goes away in the middle of a frame, the guest is left with half
// a frame and the next host process with the rest of an old answer. So a host starts with a reset: eight bytes 0xff,
// which occur in no JSON. The guest drops what it had of a frame and answers with a reset of its own; the host drops
// everything in front of that.
//
// The package imports nothing but the standard library, because the agent is linked from it.
package wire
