package tftp

import (
	"slices"
	"strconv"
	"time"
)

// Bounds of options.
const (
	defaultBlock = 512
	minBlock     = 8     // RFC 2348
	maxBlock     = 65464 // RFC 2348
	maxWindow    = 64    // blocks in flight; more than a guest's receive buffer holds is lost
	maxTimeout   = 10    // seconds; RFC 2349 has 255, which would keep a dead session for long
)

// terms is what client and server have agreed on.
type terms struct {
	block   int
	window  int
	timeout time.Duration // zero: ours, with backoff
	accept  []byte        // the answer that names what was agreed; nil when nothing was
}

// negotiate accepts what it can; what it leaves out holds as if it had not been proposed (RFC 2347). size is negative
// where it is not known.
func negotiate(proposed []Option, size int64, largest int) terms {
	t := terms{block: defaultBlock, window: 1}
	var agreed []byte
	for i, o := range proposed {
		if slices.ContainsFunc(proposed[:i], func(p Option) bool { return p.Name == o.Name }) { // once each (RFC 2347)
			continue
		}
		value, ok := t.take(o, size, largest)
		if ok {
			agreed = append(append(agreed, o.Name...), 0)
			agreed = append(strconv.AppendInt(agreed, value, 10), 0)
		}
	}
	if agreed != nil {
		t.accept = append([]byte{0, opOAck}, agreed...)
	}
	return t
}

// take applies one option and returns the value that is agreed on.
func (t *terms) take(o Option, size int64, largest int) (int64, bool) {
	n, err := strconv.ParseUint(o.Value, 10, 63)
	if err != nil {
		return 0, false
	}
	switch v := int64(n); o.Name {
	case "blksize":
		if v < minBlock || v > maxBlock {
			return 0, false
		}
		t.block = int(min(v, int64(largest)))
		return int64(t.block), true
	case "windowsize":
		if v < 1 || v > 65535 {
			return 0, false
		}
		t.window = int(min(v, maxWindow))
		return int64(t.window), true
	case "timeout":
		if v < 1 || v > maxTimeout {
			return 0, false
		}
		t.timeout = time.Duration(v) * time.Second
		return v, true
	case "tsize":
		return size, size >= 0
	}
	return 0, false
}
