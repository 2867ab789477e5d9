// Package modalias tells which kernel modules a device asks for. The kernel names a device by a string such as
// "pci:v00001AF4d00001000sv…"; modules carry patterns for those; modules.alias and modules.dep, in the form kmod writes
// them, carry the patterns and the order of loading into the initramfs.
package modalias
