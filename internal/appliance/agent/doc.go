// Package agent is the one program of the built-in guest. As PID 1 it mounts what the kernel offers, loads the modules
// that the hardware asks for, gives every NIC an address by DHCP, and answers the host over a virtio-serial port. Devices
// that are plugged in later get the same treatment.
//
// Guarantees: it never runs a program for the host, every request is bounded in time and memory, and no request or
// device ends it. It imports the standard library and golang.org/x/sys and nothing else, which a test holds.
package agent
