// Package lanbridge makes a NIC a port of a bridge that takes its place on the network, on trial: unless somebody who can still
// reach the host keeps it in time, all is as before.
//
// The daemon has the timer, and a journal on disk of what was before. What was begun by a daemon that ended is brought to an
// end by the next: half a move goes back, a trial goes on as long as it would have, or back at once when its time is over. A
// move does not outlive the boot it was made in, because nothing is written into the host's configuration until it is kept.
package lanbridge
