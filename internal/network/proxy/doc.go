// Package proxy carries connections and datagrams that come in at ports of the host's loopback to guests: what there comes
// from the host itself cannot be rewritten on its way, unless the kernel were told to route addresses of the loopback.
//
// It does I/O on sockets that it is given, and on those that it connects to guests. What is under way lives in the Server, not
// in the sockets that are listened on: so a port that comes or goes, or leads elsewhere from now on, cuts no connection.
//
// Either end of a connection may close its half, and goes on hearing the other. A guest that cannot be reached is a connection
// that is closed. Datagrams of one sender are a session with a socket of its own, until nothing was sent either way for a
// while. What waits has no memory of its own. Of both there are no more than a Limit allows, for one Server and for the process; what is too much is closed, or
// dropped.
package proxy
