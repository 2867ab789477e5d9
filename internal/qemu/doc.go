// Package qemu is one QEMU process: what a binary can do, its command line, its start under confinement, and its end. It
// knows no domain document and no disk image.
//
// A Config describes the command line as data. Descriptors appear in it by name and become numbers in Args, so the
// description can be compiled, compared and printed without opening anything. Start opens the monitor's socket, lets
// taproom-launch become QEMU and returns when QEMU answers; a guest outlives the daemon that started it, and Adopt takes
// hold of it again.
package qemu
