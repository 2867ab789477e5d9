// Package ovsdb talks to the database of Open vSwitch: JSON-RPC over a Unix socket, as RFC 7047 has it. A Conn does what
// one caller asks, in that caller's goroutine: requests are answered in their order, and whoever watches waits in Next.
// Every call ends with its context; what the other side sends is bounded, and never trusted to have the form it should.
package ovsdb
