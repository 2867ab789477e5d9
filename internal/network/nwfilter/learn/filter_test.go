package learn

import (
	"encoding/binary"
	"math/rand/v2"
	"testing"

	"golang.org/x/net/bpf"
)

// searcher returns what runs the search for links of a filter on the number of one.
func searcher(t *testing.T, in []span) func(link uint32) bool {
	t.Helper()
	vm, err := bpf.NewVM(append([]bpf.Instruction{bpf.LoadAbsolute{Off: 0, Size: 4}}, search(in)...))
	if err != nil {
		t.Fatal(err)
	}
	return func(link uint32) bool {
		n, err := vm.Run(binary.BigEndian.AppendUint32(nil, link))
		if err != nil {
			t.Fatal(err)
		}
		return n > 0
	}
}

func TestAFilterFindsTheWatchedLinksAndNoOthers(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(1, 2))
	for _, many := range []int{0, 1, 3, 4, 5, 40, 400} {
		watched := map[uint32]bool{}
		var numbers []uint32
		for range many {
			n := 1 + r.Uint32N(uint32(3*many))
			watched[n] = true
			numbers = append(numbers, n)
		}
		in := spans(numbers, 0)
		accepts := searcher(t, in)
		for range 200 {
			n := r.Uint32N(uint32(3*many + 2))
			if got := accepts(n); got != watched[n] {
				t.Fatalf("%d of %v: accepted %t", n, in, got)
			}
		}
	}
	newer := spans([]uint32{3, 5}, 9)
	accepts := searcher(t, newer)
	for n, want := range map[uint32]bool{2: false, 3: true, 4: false, 5: true, 8: false, 9: true, 1 << 30: true} {
		if got := accepts(n); got != want {
			t.Errorf("link %d: accepted %t of %v", n, got, newer)
		}
	}
}

func TestAFilterForManyLinksFitsTheKernel(t *testing.T) {
	t.Parallel()
	var numbers []uint32
	for i := range uint32(5000) {
		numbers = append(numbers, 10+2*i)
	}
	in := merged(spans(numbers, 20000))
	accepts := searcher(t, in)
	for _, n := range append(numbers, 20000) {
		if !accepts(n) {
			t.Fatalf("link %d is not heard", n)
		}
	}
	for _, k := range []kind{configuration, neighbours} {
		code, err := bpf.Assemble(program(k, in, in))
		if err != nil {
			t.Fatal(err)
		}
		const most = 4096 // BPF_MAXINSNS
		if len(code) > most {
			t.Errorf("%s: %d instructions", k, len(code))
		}
	}
}
