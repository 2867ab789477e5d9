// Package lan plans how a NIC's place on the network is handed to a bridge that the NIC becomes a port of, and back.
//
// Look reads what there is (Seen). A Layout is how it should be: with Bridged the bridge has the NIC's addresses, routes,
// rules of routing, neighbours and settings, and its MAC address; without, the NIC has them and there is no bridge. Plan
// compares the two, from whatever there is: half of a move too. So the way back is a Plan as well, and applying a Layout a
// second time plans nothing.
//
// The order of the steps is that there is a route at any time: what takes over has addresses and routes before the other
// loses them. Refuse says of which NICs a bridge cannot be made.
package lan
