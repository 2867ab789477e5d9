// Package kbuild builds kernels of our own configuration from the source that the distribution packages: an ELF file that QEMU
// enters directly, without modules. The same source, configuration and compiler give the same bytes, whatever the folder.
//
// Kernels are in a folder of the cache with a lock of its own, since a build takes minutes: nobody waits for it who does not
// want one. What has its final name there was complete and has been booted.
package kbuild
