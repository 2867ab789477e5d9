// Package demo runs two libvirt documents, a NAT network and a guest on it, from end to end in network namespaces that
// go away with it: daemon, guest, DHCP lease, real traffic host↔guest and guest→outside. Nothing of the host's own
// network is touched.
//
// It is three processes of one program. The outer one makes what the guest boots and waits; the inner one lives in a
// namespace that plays the host, and runs the daemon; the outside one lives in a namespace that plays the world behind
// the NAT, and echoes.
package demo
