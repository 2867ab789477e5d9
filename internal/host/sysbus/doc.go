// Package sysbus is a connection to the system's D-Bus: it calls methods and waits for signals. Every call ends with its
// context, and starts no service that does not run. Messages announce themselves to the Kernel's hook.
package sysbus
