package disk

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"
)

// Names that do not fit into memory come back in the order of folders, with all that is known of them.
func TestSorter_MergesWhatItSpilled(t *testing.T) {
	t.Parallel()
	s := sorter{memory: 20_000}
	defer s.close()
	want := []string{"/", "/a", "/a/x", "/a/x/y", "/a\n", "/a b", "/a-b", "/a.b/c"}
	for i := range 1000 {
		want = append(want, fmt.Sprintf("/many/%04d\xff", i))
	}
	now := time.Unix(1, 2)
	for _, i := range rand.New(rand.NewPCG(1, 2)).Perm(len(want)) {
		if err := s.add(Info{Path: want[i], Entry: Entry{Size: int64(i), ModTime: now}}); err != nil {
			t.Fatal(err)
		}
	}
	if len(s.runs) < 5 {
		t.Fatalf("%d runs were spilled", len(s.runs))
	}
	m, err := s.merged()
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for {
		i, ok, err := m.peek()
		if err != nil {
			t.Fatal(err)
		}
		if !ok {
			break
		}
		m.take()
		if i.Size != int64(len(got)) || !i.ModTime.Equal(now) {
			t.Errorf("%q: %+v", i.Path, i)
		}
		got = append(got, i.Path)
	}
	if !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got[:10], want[:10])
	}
}
