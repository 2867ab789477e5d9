package alloc

import (
	"errors"
	"fmt"

	"golang.org/x/sys/unix"
)

// TakeCID returns the lowest number from first up, and of at most tries, that claim does not answer EADDRINUSE. Nothing is
// kept here of what is in use: somebody else's guests have numbers too, and claiming one is the only question.
func TakeCID(first, tries uint32, claim func(cid uint32) error) (uint32, error) {
	for cid := first; cid-first < tries; cid++ {
		err := claim(cid)
		if err == nil || !errors.Is(err, unix.EADDRINUSE) {
			return cid, err
		}
	}
	return 0, fmt.Errorf("CIDs %d to %d: %w", first, first+tries-1, ErrExhausted)
}
