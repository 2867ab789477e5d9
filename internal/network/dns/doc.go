// Package dns answers the name questions of a virtual network's guests.
//
// A Server belongs to one network; a Shared holds what all networks of a process have in common: the cache, the host's
// resolvers, and limits, so that nothing which one network does can take memory or time from another. Both are given
// their sockets and never look for any.
//
// # What is answered here
//
// Names of guests (from leases), of fixed hosts, SRV, TXT and CNAME records, and the reverse of every address among
// them. A name of one label is answered bare and below the network's domain. A name that has addresses here is never
// forwarded, whatever type is asked for; a name with SRV or TXT records alone is forwarded for other types, for it may
// be a real one that was only added to. A wildcard answers for the names in it that have no address of their own. A
// lease cannot take a family's addresses of a fixed name over, nor the names "localhost" and "wpad". Answers have a TTL
// of 0: what a guest asks for twice it gets as it is now.
//
// Domain with LocalOnly, the prefixes of LocalPTR, forwarders without an address and the names that never belong to
// anyone upstream (localhost, invalid, onion, resolver.arpa, and the reverse of loopback, link-local and documentation
// addresses) are answered here alone: NXDOMAIN, or NODATA, with a SOA that lets clients remember it for five seconds.
//
// # What is forwarded
//
// The forwarder with the longest domain that the name is in; else forwarders without a domain; else, unless NoResolv,
// the host's resolvers. The reverse of private addresses (RFC 6303, RFC 7793) goes to the host's resolvers and to
// private forwarders, which may well know it; a public forwarder that was not given for it is not told: NXDOMAIN here.
// Who cannot be asked anywhere gets REFUSED at once. Answers that point to private or loopback addresses are passed on:
// in a network of virtual machines they are the rule, so there is no protection against rebinding.
//
// Replies from upstream are walked record by record (see check) and passed on as they came, so signatures stay as they
// were. They are kept whole, under the question and the network that they answer: nothing that a forwarder of one
// network says can reach another network, nor be the answer to another question. Nothing is forwarded to an address of
// our own, where it would come back.
//
// # What it takes
//
// Who waits for a datagram, a connection or a reply holds no room for it. What networks can use of the process is
// bounded for each and for all together (Limits), and the last part of it only for networks that use little. A guest
// that asks for more than that hears SERVFAIL at once.
package dns
