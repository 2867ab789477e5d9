// Package qos says what the <bandwidth> of a NIC, a port group or a network means for the kernel: how large the buckets and
// classes are that keep a limit. It touches nothing.
//
// A limit of N KiB/s is one of what guests say to each other, not of the wire: N × 1024 bytes a second of TCP over IPv4 pass,
// when frames are full. The kernel counts frames with the headers of Ethernet, also those that a large segment is still to be
// given, so its rate is larger by (mtu + 14) / (mtu - 52): 14 bytes of Ethernet come around a packet, and 52 of headers are in
// it (IPv4 20, TCP 20, its timestamps 12). IPv6 has 20 bytes more of them.
//
// What is over a limit waits and is not dropped at once, since no policer kept its limits when that was measured: some gave a
// single TCP stream half of what it was to have, and others a tenth more.
package qos
