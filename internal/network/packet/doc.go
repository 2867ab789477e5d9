// Package packet takes apart the Ethernet frames that a network's services receive, and makes those that they send.
//
// Nothing in a frame is trusted: every length is checked against the one around it, and every checksum that the sender
// filled in. Frames are made whole, with full checksums, so neither an old client nor the host's firewall has a say in
// them.
package packet
