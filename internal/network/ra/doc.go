// Package ra announces a network's router and prefixes to its guests: router advertisements (RFC 4861, 4862) with route
// preference (RFC 4191), resolvers and search domains (RFC 8106).
//
// It is pure: a Router is told the time, the solicitations that arrive and its new configurations, and says which frames
// to send and when it wants to be asked again. What a configuration no longer has is withdrawn from guests for as long as
// they would otherwise keep it, so a network is renumbered while its guests run.
//
// A solicitation is answered to its sender alone, at once. A flood of them is answered by one advertisement to everybody
// every three seconds, so a guest cannot make the network busy.
package ra
