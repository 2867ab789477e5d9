package lease

import (
	"net/netip"
	"testing"

	"github.com/google/go-cmp/cmp"

	"taproom/internal/network/packet"
)

var addrs = cmp.Comparer(func(a, b netip.Addr) bool { return a == b })

func someLeases() []Lease {
	return []Lease{
		{IP: netip.MustParseAddr("10.7.0.10"), MAC: packet.MAC{2, 0, 0, 0, 0, 1}, Ends: 100},
		{IP: netip.MustParseAddr("10.7.0.11"), MAC: packet.MAC{2, 0, 0, 0, 0, 2}, ClientID: "01:02", Hostname: "two", Ends: Never},
		{IP: netip.MustParseAddr("10.7.0.12"), MAC: packet.MAC{2, 0, 0, 0, 0, 1}, Ends: 300},
	}
}

func TestATornEndOfALeaseFileIsIgnored(t *testing.T) {
	t.Parallel()
	leases := someLeases()
	var file []byte
	ends := []int{0}
	for _, l := range leases {
		file = fixed().Append(file, l)
		ends = append(ends, len(file))
	}
	for cut := range len(file) + 1 {
		whole := 0
		for whole+1 < len(ends) && ends[whole+1] <= cut {
			whole++
		}
		damaged := 0
		if cut > ends[whole] {
			damaged = 1
		}
		got, bad := fixed().Parse(file[:cut])
		if diff := cmp.Diff(leases[:whole], append([]Lease{}, got...), addrs); diff != "" || bad != damaged {
			t.Fatalf("cut at byte %d of %d: %d damaged, want %d (-want +got):\n%s", cut, len(file), bad, damaged, diff)
		}
		// What is appended after a crash is found behind the torn line.
		got, _ = fixed().Parse(fixed().Append(append(file[:cut:cut], '\n'), leases[0]))
		if n := len(got); n == 0 || got[n-1] != leases[0] {
			t.Fatalf("cut at byte %d, then appended: got %+v", cut, got)
		}
	}
}

func TestNoChangedByteOfALeaseFileIsBelieved(t *testing.T) {
	t.Parallel()
	leases := someLeases()
	var file []byte
	for _, l := range leases {
		file = fixed().Append(file, l)
	}
	for i := range file {
		spoiled := append([]byte{}, file...)
		spoiled[i] ^= 0x04
		got, damaged := fixed().Parse(spoiled)
		if damaged == 0 {
			t.Errorf("byte %d changed from %q to %q unnoticed", i, file[i], spoiled[i])
		}
		for _, l := range got {
			if l != leases[0] && l != leases[1] && l != leases[2] {
				t.Errorf("byte %d changed: %+v was believed", i, l)
			}
		}
	}
}

func FuzzParse(f *testing.F) {
	var file []byte
	for _, l := range someLeases() {
		file = fixed().Append(file, l)
	}
	f.Add(file)
	f.Fuzz(func(t *testing.T, data []byte) {
		leases, _ := fixed().Parse(data)
		for _, l := range leases {
			again, damaged := fixed().Parse(fixed().Append(nil, l))
			if damaged != 0 || len(again) != 1 || again[0] != l {
				t.Errorf("%+v was read, written and read as %+v", l, again)
			}
		}
	})
}
