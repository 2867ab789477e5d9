// Package chain opens a disk image that a stranger may have written, and the images below it, for a QEMU that opens nothing
// itself. What an image names is followed only where the caller has said so, by the path that it really has; what lies behind
// a link or a network address is not.
package chain
