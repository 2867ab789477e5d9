package launch

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"

	"taproom/internal/host"
)

// Users of appliances that root launches: behind those of guests (1,900,000,000 and what follows, 65,536 for each of at most
// 30,000 daemons).
const (
	firstUser = 3_900_000_000
	userCount = 65_536
)

// userLocks has one byte for each of them; who holds the byte's lock has the user.
const userLocks = "/run/taproom/appliance-users"

// user is whom a QEMU runs as.
type user struct {
	id   uint32
	held *os.File // ours and QEMU's: the user is free when both have let go of it. nil where it is the caller's own
}

// group is the group that goes with it.
func (u user) group() uint32 {
	if u.held == nil {
		return uint32(os.Getegid())
	}
	return u.id
}

func (u user) close() {
	if u.held != nil {
		_ = u.held.Close()
	}
}

// takeUser returns the caller's own user, or for root one that nobody else has.
func takeUser(k *host.Kernel, locks string) (user, error) {
	if uid := os.Geteuid(); uid != 0 {
		return user{id: uint32(uid)}, nil
	}
	if err := k.Mkdir(filepath.Dir(locks), 0o755); err != nil {
		return user{}, fmt.Errorf("find a user for the appliance's QEMU: %w", err)
	}
	at := rand.Int64N(userCount)
	for range userCount {
		f, err := k.LockByte(locks, at)
		if err == nil {
			return user{id: uint32(firstUser + at), held: f}, nil
		}
		var taken *host.Locked
		if !errors.As(err, &taken) {
			return user{}, fmt.Errorf("find a user for the appliance's QEMU: %w", err)
		}
		at = (at + 1) % userCount
	}
	return user{}, fmt.Errorf("find a user for the appliance's QEMU: all %d from %d on are in use", userCount, uint32(firstUser))
}
