package launch

import (
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"time"

	"taproom/internal/appliance/proto"
)

// seedBytes is how much of our random numbers a guest gets: what the kernel's generator takes in.
const seedBytes = 64

// newGreeting is what makes an appliance differ from all others.
func newGreeting(now time.Time) (proto.Greeting, error) {
	var b [seedBytes + 32]byte
	if _, err := rand.Read(b[:]); err != nil {
		return proto.Greeting{}, fmt.Errorf("draw random numbers for the appliance: %w", err)
	}
	id := hex.EncodeToString(b[seedBytes : seedBytes+16])
	return proto.Greeting{
		UnixNano: now.UnixNano(), Seed: b[:seedBytes], Hostname: "appliance-" + id[:8], BootID: uuid([16]byte(b[seedBytes+16:])), MachineID: id,
	}, nil
}

// newMoment is a greeting for one that has its name already: it gets the time and random numbers of now, and stays who it is.
func newMoment(now time.Time) (proto.Greeting, error) {
	g := proto.Greeting{UnixNano: now.UnixNano(), Seed: make([]byte, seedBytes)}
	if _, err := rand.Read(g.Seed); err != nil {
		return proto.Greeting{}, fmt.Errorf("draw random numbers for the appliance: %w", err)
	}
	return g, nil
}

// uuid writes 16 random bytes as a UUID of version 4.
func uuid(b [16]byte) string {
	b[6], b[8] = b[6]&0x0f|0x40, b[8]&0x3f|0x80
	h := hex.EncodeToString(b[:])
	return h[:8] + "-" + h[8:12] + "-" + h[12:16] + "-" + h[16:20] + "-" + h[20:]
}
