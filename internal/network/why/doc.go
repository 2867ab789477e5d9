// Package why says in words what becomes of a packet that a guest sends, and whose doing it is when it gets lost.
//
// It is given Facts: what the host's settings, routes and rule sets are, and, where a probe was sent, which rules the
// kernel says it met. Judge turns them into Findings in the order of the packet's way. It does no I/O.
//
// Rule sets of others are read in two forms: as nf_tables lists them (FromNFT), and as iptables-save writes them
// (ParseSave), which is the only way to see what iptables-legacy holds. A condition that is not understood makes a
// prediction unsure, never wrong: what is said of rules by prediction alone is said only when it is sure.
package why
