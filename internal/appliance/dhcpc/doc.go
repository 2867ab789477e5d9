// Package dhcpc is a DHCPv4 client for a guest: it asks for a lease, keeps it, and says what it got. It is built on the
// standard library alone, because the agent is linked from it. What it does not do: DHCPINFORM, authentication, option
// overload, classless routes (option 121).
package dhcpc
