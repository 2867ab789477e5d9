package server

import (
	"errors"
	"fmt"
	"sync"
)

// Limits bound the daemon's connections and memory that clients may use. Zero is the default.
type Limits struct {
	// Clients is how many connections there may be (default 5000); the last tenth is root's.
	Clients int
	// UserClients is how many connections a user may have, other than root and the user that the daemon runs as (default 100).
	UserClients int
	// MessageBytes is how many bytes of messages larger than FreeMessage are read at a time, for all clients; a single user gets
	// half of it, or a single message (default 64 MiB).
	MessageBytes int64
	// ReplyBytes is the same for replies that are being made and wait for their clients to read them (default 16 MiB).
	ReplyBytes int64
	// EventBytes is how many bytes of events may wait for a client before it is disconnected (default 256 KiB).
	EventBytes int64
}

// FreeMessage is the most bytes of a message or reply that no budget counts, once per connection. A client that may
// only read sends no larger message.
const FreeMessage = 64 << 10

func (l Limits) withDefaults() Limits {
	return Limits{
		Clients: or(l.Clients, 5000), UserClients: or(l.UserClients, 100),
		MessageBytes: or(l.MessageBytes, 64<<20), ReplyBytes: or(l.ReplyBytes, 16<<20), EventBytes: or(l.EventBytes, 256<<10),
	}
}

func or[T int | int64](v, otherwise T) T {
	if v == 0 {
		return otherwise
	}
	return v
}

// errTooMany is that a user has too many connections.
var errTooMany = errors.New("too many connections")

// census counts connections by user.
type census struct {
	limits Limits
	self   uint32 // the daemon's user

	mu      sync.Mutex
	all     int
	byUser  map[uint32]int
	refused map[uint32]bool // since the user had no connection
}

func newCensus(l Limits, self uint32) *census {
	return &census{limits: l, self: self, byUser: map[uint32]int{}, refused: map[uint32]bool{}}
}

// enter counts a connection, or says why there may not be another.
func (c *census) enter(user uint32) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	n, most := c.byUser[user], c.limits.Clients
	if user != 0 && user != c.self {
		most -= most / 10
		if n >= c.limits.UserClients {
			return fmt.Errorf("%w: user %d has %d (max_user_clients)", errTooMany, user, n)
		}
	}
	if c.all >= most {
		return fmt.Errorf("%w: %d of all users, %d of user %d (max_clients)", errTooMany, c.all, n, user)
	}
	c.all++
	c.byUser[user]++
	return nil
}

// leave counts a connection that has ended.
func (c *census) leave(user uint32) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.all--
	if c.byUser[user]--; c.byUser[user] == 0 {
		delete(c.byUser, user)
		delete(c.refused, user)
	}
}

// firstRefusal reports whether the refusal of a user's connection is to be logged: a user must not be able to fill the log.
func (c *census) firstRefusal(user uint32) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.refused[user] || c.byUser[user] == 0 && len(c.refused) >= 1000 {
		return false
	}
	c.refused[user] = true
	return true
}
