// Package firmware reads QEMU's firmware descriptors and chooses one for a guest.
//
// A descriptor is a small JSON document that a distribution puts beside a firmware image: for which machines it is, what
// it can do, and which file is the template of its variables (QEMU, docs/interop/firmware.json). Directories are read from
// the least important one to the most important one: a file masks the one of the same name in a directory before, an empty
// file masks it without a successor, and the names give the order in which firmware is tried. The package does no I/O.
package firmware
