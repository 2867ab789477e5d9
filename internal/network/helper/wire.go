package helper

import (
	"net/netip"

	"taproom/internal/network/dns"
	"taproom/internal/network/lease"
	"taproom/internal/network/packet"
	"taproom/internal/spec"
)

// The daemon and the helper exchange JSON, one object per message of a SOCK_SEQPACKET socket. What may be large (a
// configuration) travels as a file, what may be long (leases) in pages.

const (
	// WireVersion is spoken by both sides, or they do not speak.
	WireVersion = 2
	// MaxMessage bounds a message in either direction. A socket's default buffer holds it.
	MaxMessage = 64 << 10
	// MaxConfig bounds a configuration file.
	MaxConfig = 16 << 20
	// MaxLog bounds a lease file that is read.
	MaxLog = 64 << 20
	// MaxFiles is how many descriptors come with one message at most (SCM_MAX_FD of the kernel is 253).
	MaxFiles = 64
)

// Op is what the daemon asks for.
type Op string

// The operations. Descriptors travel with set (the configuration, then what New names) and compact (the new lease file).
const (
	OpHello     Op = "hello"
	OpHas       Op = "has"       // which descriptors it holds for a network
	OpSet       Op = "set"       // serve a network, in place of what was served for it
	OpRemove    Op = "remove"    // stop serving one; absent is success
	OpTake      Op = "take"      // the same without a word to guests, and give its descriptors back; absent is success
	OpLend      Op = "lend"      // give a duplicate of its packet socket; absent is success
	OpList      Op = "list"      // what is served, in pages
	OpLeases    Op = "leases"    // live leases of one network, in pages
	OpStats     Op = "stats"     // counters of one network
	OpResolvers Op = "resolvers" // the host's resolvers, for all networks
	OpLookup    Op = "lookup"    // what a guest would be answered
	OpSubscribe Op = "subscribe" // events on this connection from now on
	OpCompact   Op = "compact"   // write the leases to a new file too, until commit
	OpCommit    Op = "commit"    // let go of the old lease file
	OpQuit      Op = "quit"      // end the process
)

// Request is one message from the daemon. Pages start after the UUID or address named in After.
type Request struct {
	ID        uint64           `json:"id"`
	Op        Op               `json:"op"`
	Network   spec.UUID        `json:"network,omitzero"`
	After     string           `json:"after,omitempty"`
	Keep      []string         `json:"keep,omitempty"`      // descriptors that it holds and goes on using
	New       []string         `json:"new,omitempty"`       // those that come with the message, in their order
	Resolvers []netip.AddrPort `json:"resolvers,omitempty"` // in the order of their preference
	Name      string           `json:"name,omitempty"`      // to look up
	Type      string           `json:"type,omitempty"`      // of record: A, AAAA, …
}

// Response is one message from the helper: the answer to the request with its ID, or, with ID zero, an event.
type Response struct {
	ID       uint64         `json:"id,omitempty"`
	Error    string         `json:"error,omitempty"`
	Hello    *Hello         `json:"hello,omitempty"`
	Has      []string       `json:"has,omitempty"` // for take and lend, the descriptors that come with the message
	Networks []Observed     `json:"networks,omitempty"`
	Leases   []lease.Record `json:"leases,omitempty"`
	More     bool           `json:"more,omitempty"` // there is another page
	Stats    *Stats         `json:"stats,omitempty"`
	Answer   *Answer        `json:"answer,omitempty"`
	Event    *Event         `json:"event,omitempty"`
}

// Hello is what a helper says about itself.
type Hello struct {
	Version  int    `json:"version"`
	Build    string `json:"build"` // of the program: a daemon of another build replaces it
	PID      int    `json:"pid"`
	Landlock string `json:"landlock"` // "enforced", or why not
	Seccomp  string `json:"seccomp"`  // the same
}

// Observed is a network that is being served.
type Observed struct {
	UUID        spec.UUID `json:"uuid"`
	Bridge      string    `json:"bridge"`
	Index       int       `json:"index"` // of the bridge the socket is bound to; -1 when that bridge is gone
	Fingerprint string    `json:"fingerprint"`
	Damaged     int       `json:"damaged,omitempty"` // lines of the lease file that could not be read
}

// Answer is what DNS says about a name.
type Answer struct {
	Status  string   `json:"status"` // NOERROR, NXDOMAIN, …
	Records []string `json:"records,omitempty"`
	Source  string   `json:"source,omitempty"` // who knew: "lease", "host", "forwarder 192.0.2.1:53", …
}

// Stats are a network's counters since it was set.
type Stats struct {
	Received uint64                    `json:"received"` // frames
	Answered uint64                    `json:"answered"`
	Dropped  uint64                    `json:"dropped"` // by the kernel, because we did not keep up or would not
	Faults   uint64                    `json:"faults"`  // panics that cost the network its state in memory and nobody else anything
	Refused  map[packet.Refusal]uint64 `json:"refused,omitempty"`
	Leases   int                       `json:"leases"`
	Records  int                       `json:"records"` // lines in the lease file
	DNS      *dns.Stats                `json:"dns,omitempty"`
}

// Change is something that happened to a lease.
type Change struct {
	Kind  lease.ChangeKind `json:"kind"`
	Lease lease.Record     `json:"lease"`
}

// Event is something a network's clients did.
type Event struct {
	Network spec.UUID `json:"network,omitzero"`
	Change  *Change   `json:"change,omitempty"`
	Compact bool      `json:"compact,omitempty"` // the lease file is mostly history and should be compacted
	Missed  bool      `json:"missed,omitempty"`  // the reader was too slow: read the leases again
	Failed  string    `json:"failed,omitempty"`  // what could not be done about it
}
