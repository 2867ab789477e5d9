package dhcp6

import "math/bits"

// holes is a set of numbers up to a last one that finds the next number that is not in it, in as many steps as the last has
// digits to the base 64. It takes room for its members alone, so it may stand for all of 2^64 addresses. (A search by trying
// has no bound that a guest could not make use of: whoever picks addresses picks those that are tried.)
//
// It is a tree: a word of level 0 holds 64 numbers, and a bit of level k says that its word of level k-1 is full.
type holes struct {
	last   uint64
	levels []map[uint64]uint64 // words that are not zero
}

func newHoles(last uint64) *holes {
	h := &holes{last: last}
	for rest := last; len(h.levels) == 0 || rest > 0; rest >>= 6 {
		h.levels = append(h.levels, map[uint64]uint64{})
	}
	return h
}

// put adds or removes a number.
func (h *holes) put(i uint64, in bool) {
	for _, words := range h.levels {
		before := words[i>>6]
		after := before &^ (1 << (i & 63))
		if in {
			after |= 1 << (i & 63)
		}
		if after == 0 {
			delete(words, i>>6)
		} else {
			words[i>>6] = after
		}
		if (before == ^uint64(0)) == (after == ^uint64(0)) {
			return
		}
		i >>= 6
	}
}

// next returns the first number from one on that is not in the set.
func (h *holes) next(i uint64) (uint64, bool) {
	for k := range h.levels {
		if i > h.last>>(6*k) {
			return 0, false
		}
		free := ^h.levels[k][i>>6] >> (i & 63) << (i & 63)
		if free == 0 {
			i = i>>6 + 1 // the next word, which is a bit one level up
			continue
		}
		i = i&^63 | uint64(bits.TrailingZeros64(free))
		for ; k > 0 && i <= h.last>>(6*k); k-- {
			i = i<<6 | uint64(bits.TrailingZeros64(^h.levels[k-1][i]))
		}
		return i, k == 0 && i <= h.last
	}
	return 0, false
}
