package guest

import (
	"strconv"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"taproom/internal/spec"
)

// Whatever the ranges are: exactly the ports that one names and none excludes are forwarded, each to its place in the
// range.
func TestForwardedPortsAreThoseThatNoRangeExcludes(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		var ranges []spec.PortRange
		excluded := map[int]bool{}
		for range rapid.IntRange(0, 6).Draw(t, "ranges") {
			first := rapid.IntRange(1, 60).Draw(t, "first")
			last := first + rapid.IntRange(0, 9).Draw(t, "more")
			r := spec.PortRange{Start: strconv.Itoa(first), End: strconv.Itoa(last)}
			if rapid.Bool().Draw(t, "exclude") {
				r.Exclude = "yes"
				for p := first; p <= last; p++ {
					excluded[p] = true
				}
			} else {
				r.To = strconv.Itoa(first + 1000)
			}
			ranges = append(ranges, r)
		}
		var want []forward
		for _, r := range ranges {
			first, last, _ := r.Ports()
			for p := first; p <= last && r.Exclude == ""; p++ {
				if !excluded[p] {
					want = append(want, forward{p, p + 1000})
				}
			}
		}
		if d := cmp.Diff(want, forwarded(ranges), cmp.AllowUnexported(forward{})); d != "" {
			t.Errorf("%+v (-want +got):\n%s", ranges, d)
		}
	})
}
