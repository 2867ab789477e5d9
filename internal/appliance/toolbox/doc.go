// Package toolbox makes the read-only disk with the distribution's tools for disks: mkfs, lvm, cryptsetup, mdadm, tar and their
// kind, with the libraries that they need. Every appliance has it attached, and the host keeps it in memory once for all.
//
// The packages are fetched and unpacked, not installed. The same versions of them give the same bytes.
package toolbox
