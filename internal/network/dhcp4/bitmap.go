package dhcp4

import "math/bits"

// bitmap is a set of numbers below its size.
type bitmap struct {
	size  int
	words []uint64
}

func newBitmap(size int) *bitmap {
	return &bitmap{size: size, words: make([]uint64, (size+63)/64)}
}

func (b *bitmap) put(i int, in bool) {
	if in {
		b.words[i/64] |= 1 << (i % 64)
	} else {
		b.words[i/64] &^= 1 << (i % 64)
	}
}

func (b *bitmap) has(i int) bool { return b.words[i/64]>>(i%64)&1 == 1 }

// next returns the first member from a number on, beginning again at zero.
func (b *bitmap) next(from int) (int, bool) {
	if b.size == 0 {
		return 0, false
	}
	word := from / 64
	rest := b.words[word] >> (from % 64) << (from % 64)
	for range len(b.words) + 1 {
		if rest != 0 {
			return word*64 + bits.TrailingZeros64(rest), true
		}
		word = (word + 1) % len(b.words)
		rest = b.words[word]
	}
	return 0, false
}
