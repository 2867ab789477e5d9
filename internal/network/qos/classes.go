package qos

import (
	"errors"

	"taproom/internal/host"
)

// ErrClasses says that more NICs of one network have a floor than the kernel can tell apart.
var ErrClasses = errors.New("65517 NICs with a floor are on the network, and no more can be")

// Take is a class that none of those in use has: the lowest one that is free. A class has 16 bits, so it is never made of an
// index.
func Take(used map[uint16]bool) (uint16, error) {
	for c := FirstClass; c != 0; c++ {
		if !used[c] && c != host.BucketHandle && c != host.TreeHandle && c != host.IngressHandle { // what is in it has its number

			return c, nil
		}
	}
	return 0, ErrClasses
}
