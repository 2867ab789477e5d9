// Package disk opens disk images that nobody has reason to trust, in a machine of their own that is thrown away.
//
// An image from elsewhere must not be mounted on a host: the kernel's file systems were not written for a disk that somebody
// made to break them, and a qcow2 image may name any file of the host as the one below it. Launch starts a small machine in a QEMU
// that is confined, has no network unless that is asked for, belongs to this process and ends with it. What an image leads to is followed only where the
// caller says so, and nothing is written to it unless the caller asks for that.
//
// Filesystems says what is on the images, Assemble puts together what lies on several of them or is encrypted, Mount and MountSet make a tree of it, and the
// other methods look into that tree, copy out of it and, where the caller says so, change it. Paths are those of the tree; no symbolic link leads
// out of it. What a method says of an image was written by whoever made the image.
//
// No root and no daemon is needed. It takes QEMU (qemu-system-x86_64) and two of taproom's programs, taproom-launch and
// taproom-init, beside the running program or in the search path. The first appliance of a user takes a few seconds, the
// next ones a tenth of one.
package disk
