// Package doctor says what this host can do for guests, what is in the way, and how to fix it.
//
// Every check is a function in a file of its own that returns Findings with evidence (what was read, from where) and a
// remedy. It looks and does not touch: what has to be tried to be known is tried in a network namespace that is thrown
// away. Two traces remain possible and are the kernel's doing: trying a feature may load its module, and connecting to a
// socket of libvirt that systemd holds starts the service behind it.
//
// A check that could not find out says Unknown and why; it never guesses.
package doctor
