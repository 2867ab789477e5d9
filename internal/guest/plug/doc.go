// Package plug changes a running guest. What a guest consists of is data (guest.Compile), so plugging a device in or out is
// the difference of two configurations, as an ordered list of commands for QEMU's monitor; and what is to be done after a
// failure, a guest that let go of a device by itself, or a daemon that was killed half-way is the difference of what QEMU
// has and what it should have. It knows no kind of device: what can be plugged follows from the configuration.
//
// All of it is pure. A command that needs a descriptor names the file.
package plug
