// Package lanfiles writes into a host's network configuration that a NIC is a port of a bridge, which has the configuration
// that the NIC had, so that it is like that after the next boot too.
//
// Persist finds out who manages the NIC (systemd-networkd, NetworkManager or ifupdown), reads what is configured, and returns
// the files as they should be: Changes, which say what was there before, so that they can be shown and taken back. It writes
// nothing itself. What it does not understand it refuses; the bridge then works until the next boot.
package lanfiles
