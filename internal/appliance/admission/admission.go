// Package admission decides whether the host has room for one more appliance, by what was measured and by no constant
// number. Nothing here reads the host.
package admission

import (
	"fmt"

	"taproom/internal/host"
)

// The reserve is what stays free for everybody else and for appliances that grow while they work: a share of the memory, and
// at least so much.
const (
	reserveShare = 16
	leastReserve = 256 << 20 // bytes
)

// Reserve is how much of a host's memory appliances leave alone, in bytes.
func Reserve(total uint64) uint64 { return min(max(total/reserveShare, leastReserve), total/2) }

// Ledger is what a decision goes by. Sizes are in bytes.
type Ledger struct {
	Room     host.MemoryRoom
	Each     uint64 // what one appliance takes: the most that was measured of one, or all its memory when none was
	Starting int    // that were admitted and do not show in Room yet
}

// NoRoom says that there is too little memory for one more appliance.
type NoRoom struct{ Ledger }

// Error says what was measured.
func (e *NoRoom) Error() string {
	const mib = 1 << 20
	text := fmt.Sprintf("no memory for one more appliance: of %d MiB, %d MiB can be had, %d MiB of that stay free for the rest of the host, and an appliance takes %d MiB",
		e.Room.Total/mib, e.Room.Available/mib, Reserve(e.Room.Total)/mib, (e.Each+mib-1)/mib)
	if e.Starting > 0 {
		text += fmt.Sprintf(" (%d are just starting)", e.Starting)
	}
	return text + "; close some, or end other programs"
}

// Admit returns nil when one more appliance may start, and a *NoRoom otherwise.
func (l Ledger) Admit() error {
	if l.Room.Available < Reserve(l.Room.Total)+l.Each*uint64(l.Starting+1) {
		return &NoRoom{l}
	}
	return nil
}

// Short is how many appliances that nobody uses should go so that the reserve is whole again.
func (l Ledger) Short() int {
	reserve := Reserve(l.Room.Total)
	if l.Room.Available >= reserve || l.Each == 0 {
		return 0
	}
	return int((reserve - l.Room.Available + l.Each - 1) / l.Each)
}
