// Package arp finds out which addresses of a network somebody uses without having asked for them, before they are
// offered, so that an offer never waits for an answer that does not come.
//
// A Prober is pure and belongs to one network. Whoever has the pool of addresses
//
//   - tells it with Want which few addresses new clients would get next, whenever that has changed. An address that was
//     just offered is none of them any more: its client announces it, and that is no conflict;
//   - passes it every ARP packet of the network with Heard;
//   - sends the frames of Due when Next has come;
//   - asks Blocked before it offers an address.
//
// What is not known is not blocked: an address whose probes have not come back yet is offered like any other, and the
// client, which has to probe it too (RFC 2131, 4.4.1), declines it if need be. Checked tells the two apart for a pool that
// has a choice.
//
// A blocked address is a pool's last resort, not nothing: a guest may answer for addresses that it does not have. For that
// reason too, one network card can block only a few of them, and a card never blocks an address for itself.
//
// The probes ask with an empty sender (RFC 5227, 2.1.1), so no guest learns anything from them. Nothing is defended: the
// addresses are not ours.
package arp
