package suite

import (
	"slices"
	"strings"

	"taproom/internal/bench"
	"taproom/internal/bench/stats"
)

// Ratio is a figure of taproom's to what was measured beside it.
type Ratio struct {
	Figure  string `json:"figure"`
	Against string `json:"against"`
	stats.Interval
	Paired bool `json:"paired"` // the two took turns, and the ratio is of their pairs
}

// Roles of figures, told by how their names begin.
const (
	roleOwn   = "own"
	roleFloor = "floor"
	rolePeer  = "peer"
	roleBase  = "base"
)

// roleOf tells whose a figure is. What another algorithm does is a peer's.
func roleOf(name string) string {
	first, _, _ := strings.Cut(name, ".")
	switch {
	case strings.HasPrefix(first, "floor"):
		return roleFloor
	case first == "peer", first == "probe", first == "counter":
		return rolePeer
	case first == "base":
		return roleBase
	}
	return roleOwn
}

// ratios compares every figure of ours with its counterparts.
func ratios(r *bench.Report) []Ratio {
	var out []Ratio
	for _, own := range r.Raw {
		if roleOf(own.Name) != roleOwn || strings.Contains(own.Name, "stage.") {
			continue
		}
		for _, other := range r.Raw {
			if other.Unit != own.Unit || !counterparts(r.Bench, own.Name, other.Name) {
				continue
			}
			q := Ratio{Figure: own.Name, Against: other.Name, Paired: len(own.Samples) == len(other.Samples) && len(own.Samples) > 1}
			if q.Paired {
				q.Interval, _ = stats.PairedRatio(own.Samples, other.Samples, stats.Confidence)
			} else {
				q.Interval, _ = stats.Ratio(own.Samples, other.Samples, stats.Confidence)
			}
			if q.Estimate > 0 { // not where a figure is not above 0, and nothing has a ratio
				out = append(out, q)
			}
		}
	}
	return out
}

// counterparts reports whether other is what own is compared with: the same name behind a prefix, the same without the back
// end that the floor does not have, or the one floor of a part.
func counterparts(benchmark, own, other string) bool {
	role := roleOf(other)
	if role == roleOwn {
		return false
	}
	_, rest, _ := strings.Cut(own, ".")
	for _, name := range []string{own, rest} {
		if name == "" {
			continue
		}
		if before, ok := strings.CutSuffix(other, "."+name); ok && whole(before) {
			return true
		}
	}
	alone := slices.Contains([]string{"floor", "peer.libvirt"}, other) && (own == "total" || benchmark == "readopt")
	ready := strings.HasSuffix(own, ".ready") &&
		(other == "floor.qemu" || other == "peer.libguestfs" && !strings.Contains(own, "mounted") || other == "peer.libguestfs.mounted" && strings.Contains(own, "mounted"))
	return alone || ready
}

// whole reports whether before is all of a prefix, and no part of another figure's name.
func whole(before string) bool {
	return slices.Contains([]string{"floor", "probe", "counter", "base", "peer.libvirt", "peer.libguestfs", "peer.dnsmasq"}, before)
}
