// Package nic gives the links of a guest their addresses, by the little of rtnetlink and packet sockets that this takes: both
// first processes use it. It is built on the standard library and package dhcpc, because they are linked from it.
package nic
