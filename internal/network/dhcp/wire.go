package dhcp

import (
	"taproom/internal/spec"
)

// The daemon and the helper exchange JSON, one object per message of a SOCK_SEQPACKET socket. What may be large (a
// configuration) travels as a file, what may be long (leases) in pages.

const (
	// WireVersion is spoken by both sides, or they do not speak.
	WireVersion = 1
	// MaxMessage bounds a message in either direction. A socket's default buffer holds it.
	MaxMessage = 64 << 10
	// MaxConfig bounds a configuration file.
	MaxConfig = 16 << 20
	// MaxLog bounds a lease file that is read.
	MaxLog = 64 << 20
)

// Op is what the daemon asks for.
type Op string

// The operations. Descriptors travel with set (configuration, packet socket, lease file, and optionally a socket that is
// only held) and compact (the new lease file).
const (
	OpHello     Op = "hello"
	OpSet       Op = "set"       // serve a network, in place of what was served for it
	OpRemove    Op = "remove"    // stop serving one; absent is success
	OpList      Op = "list"      // what is served, in pages
	OpLeases    Op = "leases"    // live leases of one network, in pages
	OpStats     Op = "stats"     // counters of one network
	OpSubscribe Op = "subscribe" // events on this connection from now on
	OpCompact   Op = "compact"   // write the leases to a new file too, until commit
	OpCommit    Op = "commit"    // let go of the old lease file
	OpQuit      Op = "quit"      // end the process
)

// Request is one message from the daemon. Pages start after the UUID or address named in After.
type Request struct {
	ID      uint64    `json:"id"`
	Op      Op        `json:"op"`
	Network spec.UUID `json:"network,omitzero"`
	After   string    `json:"after,omitempty"`
}

// Response is one message from the helper: the answer to the request with its ID, or, with ID zero, an event.
type Response struct {
	ID       uint64     `json:"id,omitempty"`
	Error    string     `json:"error,omitempty"`
	Hello    *Hello     `json:"hello,omitempty"`
	Networks []Observed `json:"networks,omitempty"`
	Leases   []Lease    `json:"leases,omitempty"`
	More     bool       `json:"more,omitempty"` // there is another page
	Stats    *Stats     `json:"stats,omitempty"`
	Event    *Event     `json:"event,omitempty"`
}

// Hello is what a helper says about itself.
type Hello struct {
	Version  int    `json:"version"`
	PID      int    `json:"pid"`
	Landlock string `json:"landlock"` // "enforced", or why not
}

// Observed is a network that is being served.
type Observed struct {
	UUID        spec.UUID `json:"uuid"`
	Bridge      string    `json:"bridge"`
	Index       int       `json:"index"` // of the bridge the socket is bound to; -1 when that bridge is gone
	Fingerprint string    `json:"fingerprint"`
	Damaged     int       `json:"damaged,omitempty"` // lines of the lease file that could not be read
}

// Stats are a network's counters since it was set.
type Stats struct {
	Received uint64             `json:"received"`
	Answered uint64             `json:"answered"`
	Dropped  uint64             `json:"dropped"` // by the kernel, because we did not keep up or would not
	Refused  map[Refusal]uint64 `json:"refused,omitempty"`
	Leases   int                `json:"leases"`
	Records  int                `json:"records"` // lines in the lease file
}

// Event is something a network's clients did.
type Event struct {
	Network spec.UUID `json:"network,omitzero"`
	Change  *Change   `json:"change,omitempty"`
	Compact bool      `json:"compact,omitempty"` // the lease file is mostly history and should be compacted
	Missed  bool      `json:"missed,omitempty"`  // the reader was too slow: read the leases again
	Failed  string    `json:"failed,omitempty"`  // what could not be done about it
}
