package vnetd

import (
	"net/netip"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"taproom/internal/network/lease"
	"taproom/internal/network/packet"
)

var addrs = cmp.Comparer(func(a, b netip.Addr) bool { return a == b })

// shelf is a directory of lease files.
type shelf struct {
	t   *testing.T
	dir string
}

func (s shelf) open(name string) *os.File {
	s.t.Helper()
	f, err := os.OpenFile(filepath.Join(s.dir, name), os.O_RDWR|os.O_APPEND|os.O_CREATE, 0o600)
	if err != nil {
		s.t.Fatal(err)
	}
	return f
}

// want compares what a file tells a helper that starts from it.
func (s shelf) want(name string, damaged int, leases ...lease.Lease) {
	s.t.Helper()
	l, got, err := openLog(s.open(name), make(chan struct{}, 1), still())
	if err != nil {
		s.t.Fatal(err)
	}
	defer l.close()
	if diff := cmp.Diff(leases, got, addrs); diff != "" || l.damaged != damaged {
		s.t.Errorf("%s: %d lines damaged, want %d; leases (-want +got):\n%s", name, l.damaged, damaged, diff)
	}
}

func given(n byte) lease.Lease {
	return lease.Lease{IP: netip.AddrFrom4([4]byte{10, 7, 0, n}), MAC: packet.MAC{2, 0, 0, 0, 0, n}, Ends: int64(n)}
}

func added(n byte) []lease.Change {
	return []lease.Change{{Kind: lease.Added, Lease: given(n)}}
}

// still is a clock that stands.
func still() lease.Clock {
	return lease.Clock{Boot: "one", Steady: func() int64 { return 1 }, Wall: func() int64 { return 1_700_000_000 }}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func TestWhatIsAppendedBehindATornLineIsFound(t *testing.T) {
	t.Parallel()
	s := shelf{t, t.TempDir()}
	whole := still().Append(nil, given(1))
	torn := still().Append(whole, given(2))
	must(t, os.WriteFile(filepath.Join(s.dir, "a"), torn[:len(torn)-3], 0o600))
	l, _, err := openLog(s.open("a"), make(chan struct{}, 1), still())
	must(t, err)
	defer l.close()
	must(t, l.append(added(3)))
	must(t, l.append(added(4)))
	s.want("a", 1, given(1), given(3), given(4))
}

func TestDuringACompactionEitherFileTellsEverything(t *testing.T) {
	t.Parallel()
	s := shelf{t, t.TempDir()}
	l, _, err := openLog(s.open("a"), make(chan struct{}, 1), still())
	must(t, err)
	defer l.close()
	must(t, l.append(added(1)))
	must(t, l.compact(s.open("b"), []lease.Lease{given(1)}))
	must(t, l.append(added(2)))
	s.want("a", 0, given(1), given(2))
	s.want("b", 0, given(1), given(2))

	// The daemon dies after it has renamed b to a and before it said so; the next one starts over.
	must(t, os.Rename(filepath.Join(s.dir, "b"), filepath.Join(s.dir, "a")))
	must(t, l.compact(s.open("c"), []lease.Lease{given(2)}))
	must(t, l.append(added(3)))
	s.want("a", 0, given(1), given(2), given(3))
	s.want("c", 0, given(2), given(3))
	if len(l.files) != 2 {
		t.Errorf("%d files are held, want the two that have names", len(l.files))
	}
	must(t, l.commit(1))
	must(t, l.append(added(4)))
	s.want("a", 0, given(1), given(2), given(3))
	s.want("c", 0, given(2), given(3), given(4))
	if err := l.commit(1); err == nil {
		t.Error("a commit without a compaction was accepted")
	}
}

func TestAFullDiskIsAnErrorAndHarmsOneLineAtMost(t *testing.T) {
	t.Parallel()
	full, err := os.OpenFile("/dev/full", os.O_RDWR, 0)
	must(t, err)
	l := &leaseLog{files: []*os.File{full}, disk: make(chan struct{}, 1), clock: still()}
	defer l.close()
	if err := l.append(added(1)); err == nil {
		t.Error("a lease that was not stored counts as stored")
	}
	if !l.torn {
		t.Error("the next line would follow a part of the lost one")
	}
}
