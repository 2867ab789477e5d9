package alloc

import "math/bits"

// bitmap is a set of numbers from 0 up to size. It grows as far as it is used.
type bitmap struct {
	words []uint64
	size  int
	used  int
}

func (b *bitmap) has(i int) bool {
	return i/64 < len(b.words) && b.words[i/64]>>(i%64)&1 != 0
}

// set adds i and reports whether it was new.
func (b *bitmap) set(i int) bool {
	if b.has(i) {
		return false
	}
	for i/64 >= len(b.words) {
		b.words = append(b.words, 0)
	}
	b.words[i/64] |= 1 << (i % 64)
	b.used++
	return true
}

// clear removes i and reports whether it was there.
func (b *bitmap) clear(i int) bool {
	if !b.has(i) {
		return false
	}
	b.words[i/64] &^= 1 << (i % 64)
	b.used--
	return true
}

// next returns the first number from i on, wrapping, that is not in the set; false when there is none. It looks at 64 at
// a time.
func (b *bitmap) next(i int) (int, bool) {
	if b.used >= b.size {
		return 0, false
	}
	if i >= b.size {
		i = 0
	}
	if n := b.gap(i); n < b.size {
		return n, true
	}
	return b.gap(0), true
}

// gap returns the first number from i on that is not in the set, perhaps beyond the size.
func (b *bitmap) gap(i int) int {
	for w := i / 64; w < len(b.words); w++ {
		free := ^b.words[w]
		if w == i/64 {
			free &= ^uint64(0) << (i % 64)
		}
		if free != 0 {
			return 64*w + bits.TrailingZeros64(free)
		}
	}
	return max(i, 64*len(b.words))
}
