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

// userLocks has one byte for each of them. Who holds the byte's lock may begin to run as the user, where nobody does: from then on it
// is the process that has the user. QEMU gets nothing of the file, or one that its guest took over would let go of its own lock,
// or take all others'.
const userLocks = "/run/taproom/appliance-users"

// user is whom a QEMU runs as.
type user struct {
	id   uint32
	held *os.File // the lock; nil where it is the caller's own
}

// group is the group that goes with it.
func (u user) group() uint32 {
	if u.held == nil {
		return uint32(os.Getegid())
	}
	return u.id
}

// close lets go of the lock: a process runs as the user by now, or none will.
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
		u, err := claim(k, locks, at)
		if err == nil {
			return u, nil
		}
		if !errors.Is(err, errTaken) {
			return user{}, fmt.Errorf("find a user for the appliance's QEMU: %w", err)
		}
		at = (at + 1) % userCount
	}
	return user{}, fmt.Errorf("find a user for the appliance's QEMU: all %d from %d on are in use", userCount, uint32(firstUser))
}

// errTaken says that somebody has a user, or is about to.
var errTaken = errors.New("the user is taken")

// claim takes one of them.
func claim(k *host.Kernel, locks string, at int64) (user, error) {
	f, err := k.LockByte(locks, at)
	var locked *host.Locked
	if errors.As(err, &locked) {
		return user{}, errTaken
	}
	if err != nil {
		return user{}, err
	}
	u := user{id: uint32(firstUser + at), held: f}
	runs, err := k.UserRuns(u.id)
	if err == nil && runs {
		err = errTaken
	}
	if err != nil {
		u.close()
		return user{}, err
	}
	return u, nil
}
