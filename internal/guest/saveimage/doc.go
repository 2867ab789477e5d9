// Package saveimage is the file that a guest's state is saved to: libvirt's format, so that an image made here can be
// restored by libvirt and the other way round.
//
// A file begins with a header of 92 bytes (16 of magic, then numbers of 32 bits in the byte order of the host that made
// it), the domain's document, optionally a cookie of libvirt's, and room for a longer document. QEMU's migration stream
// follows, as it is or compressed. An image that is being written has another magic, so that it is never taken for a whole
// one. What cannot be read whole is refused by name; nothing is guessed at.
package saveimage
