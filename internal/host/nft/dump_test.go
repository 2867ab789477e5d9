package nft

import (
	"errors"
	"testing"
)

// The kernel's part of it, a set that is dumped while its table is resized, is in the suite: ten thousand elements, read
// right after they were added.
func TestADumpThatShowsAKeyTwiceIsNotWhole(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		keys []string
		want error
	}{
		{nil, nil},
		{[]string{"a"}, nil},
		{[]string{"a", "b", "c"}, nil},
		{[]string{"a", "b", "b", "c"}, ErrInterrupted},
		{[]string{"a", "c", "c"}, ErrInterrupted},
	} {
		if err := once(c.keys); !errors.Is(err, c.want) {
			t.Errorf("%q: %v, want %v", c.keys, err, c.want)
		}
	}
}
