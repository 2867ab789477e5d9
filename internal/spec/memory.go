package spec

import (
	"fmt"
	"math"
	"math/bits"
	"strings"
)

// unitBytes is what a unit of memory stands for: KB is 1000 bytes, KiB and k are 1024 (virScaleInteger).
func unitBytes(unit string) (uint64, bool) {
	u := strings.ToLower(unit)
	switch u {
	case "":
		return 1 << 10, true
	case "b", "byte", "bytes":
		return 1, true
	}
	power := strings.IndexByte("kmgtpe", u[0]) + 1
	if power == 0 {
		return 0, false
	}
	switch u[1:] {
	case "", "ib":
		return 1 << (10 * power), true
	case "b":
		return uint64(math.Pow10(3 * power)), true
	}
	return 0, false
}

// KiB returns the amount in KiB, rounded up. A nil Memory is 0.
func (m *Memory) KiB() (uint64, error) {
	if m == nil {
		return 0, nil
	}
	n, err := ParseDecimal(m.Value, math.MaxUint64)
	if err != nil {
		return 0, fmt.Errorf("amount of memory: %w", err)
	}
	scale, ok := unitBytes(m.Unit)
	if !ok {
		return 0, fmt.Errorf("unit of memory %q is not known; use KiB, MiB, GiB…", m.Unit)
	}
	high, low := bits.Mul64(n, scale)
	// A guest's memory is counted in bytes in QEMU, in a signed number.
	if high != 0 || low > math.MaxInt64 {
		return 0, fmt.Errorf("amount of memory %s %s is too large", m.Value, m.Unit)
	}
	return (low + 1<<10 - 1) >> 10, nil
}
