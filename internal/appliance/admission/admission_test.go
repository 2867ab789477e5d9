package admission_test

import (
	"errors"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"taproom/internal/appliance/admission"
	"taproom/internal/host"
)

const mib = 1 << 20

func TestOneMoreIsAdmittedWhileTheReserveStaysWhole(t *testing.T) {
	for _, c := range []struct {
		name             string
		total, available uint64 // MiB
		each             uint64
		starting         int
		want             bool
	}{
		{"much", 24576, 20000, 16, 0, true},
		{"the last one", 24576, 1536 + 16, 16, 0, true},
		{"one too many", 24576, 1536 + 15, 16, 0, false},
		{"those that start count", 24576, 1536 + 47, 16, 2, false},
		{"and fit", 24576, 1536 + 48, 16, 2, true},
		{"a small machine keeps at least so much", 2048, 256 + 127, 128, 0, false},
		{"a tiny one half", 300, 150 + 128, 128, 0, true},
	} {
		l := admission.Ledger{Room: host.MemoryRoom{Total: c.total * mib, Available: c.available * mib}, Each: c.each * mib, Starting: c.starting}
		err := l.Admit()
		var no *admission.NoRoom
		if (err == nil) != c.want || err != nil && !errors.As(err, &no) {
			t.Errorf("%s: %v, want admitted %v", c.name, err, c.want)
		}
	}
}

func TestARefusalSaysWhatWasMeasured(t *testing.T) {
	err := admission.Ledger{Room: host.MemoryRoom{Total: 4096 * mib, Available: 300 * mib}, Each: 15*mib + 1, Starting: 3}.Admit()
	if err == nil {
		t.Fatal("admitted")
	}
	for _, want := range []string{"of 4096 MiB", "300 MiB can be had", "256 MiB", "takes 16 MiB", "3 are just starting", "close some"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("%q does not say %q", err, want)
		}
	}
}

// Whatever is measured: what is admitted one by one never eats into the reserve, and who gives back what Short says has it whole.
func TestTheReserveIsNeverTouched(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		total := rapid.Uint64Range(1*mib, 1<<40).Draw(t, "total")
		l := admission.Ledger{
			Room: host.MemoryRoom{Total: total, Available: rapid.Uint64Range(0, total).Draw(t, "available")},
			Each: rapid.Uint64Range(1*mib, 1<<32).Draw(t, "each"),
		}
		reserve := admission.Reserve(total)
		if reserve > total/2 {
			t.Fatalf("reserve %d of %d", reserve, total)
		}
		gone := l
		gone.Room.Available += l.Each * uint64(l.Short())
		if gone.Room.Available < reserve {
			t.Fatalf("%d are to go, and %d of %d are free", l.Short(), gone.Room.Available, reserve)
		}
		for range 100 {
			if l.Admit() != nil {
				return
			}
			if l.Starting++; l.Room.Available-l.Each*uint64(l.Starting) < reserve {
				t.Fatalf("%d were admitted: %d less than the reserve of %d is left", l.Starting, l.Room.Available-l.Each*uint64(l.Starting), reserve)
			}
		}
	})
}
