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

// next returns the first number from i on, wrapping, that is neither in the set nor in the other one; false when there is
// none. It looks at 64 at a time.
func (b *bitmap) next(other *bitmap, i int) (int, bool) {
	if b.used >= b.size {
		return 0, false
	}
	if i >= b.size {
		i = 0
	}
	n := b.gap(other, i)
	if n >= b.size {
		n = b.gap(other, 0)
	}
	return n, n < b.size
}

// gap returns the first number from i on that is in neither set, perhaps beyond the size.
func (b *bitmap) gap(other *bitmap, i int) int {
	words := max(len(b.words), len(other.words))
	for w := i / 64; w < words; w++ {
		free := ^(b.word(w) | other.word(w))
		if w == i/64 {
			free &= ^uint64(0) << (i % 64)
		}
		if free != 0 {
			return 64*w + bits.TrailingZeros64(free)
		}
	}
	return max(i, 64*words)
}

func (b *bitmap) word(w int) uint64 {
	if w < len(b.words) {
		return b.words[w]
	}
	return 0
}
