// Package netwhy looks at the host around a network or a guest, and has the kernel tell what becomes of a packet: it gathers
// the Facts that package why judges.
//
// It changes nothing. A probe goes in by a copy of the guest's own tap, or by a tap on the network's bridge that is there
// for as long as its descriptor is open; the rule that has the kernel trace it is in a table that a socket owns. So whatever
// ends the process, nothing stays.
package netwhy
