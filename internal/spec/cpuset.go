package spec

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// maxCPUSet is the largest number in a set of processors or nodes (libvirt's VIR_DOMAIN_CPUMASK_LEN).
const maxCPUSet = 16383

// ParseCPUSet reads a set of processors or of NUMA nodes, "0-3,^2,8", and returns its numbers in order. Of words that
// contradict each other the later one holds. An empty set is an error.
func ParseCPUSet(s string) ([]int, error) {
	set := map[int]bool{}
	for word := range strings.SplitSeq(s, ",") {
		word = strings.TrimSpace(word)
		word, without := strings.CutPrefix(word, "^")
		first, last, isRange := strings.Cut(word, "-")
		a, err := ParseDecimal(first, maxCPUSet)
		b := a
		if err == nil && isRange && !without {
			b, err = ParseDecimal(last, maxCPUSet)
		} else if isRange {
			err = fmt.Errorf("a range cannot be left out")
		}
		if err == nil && b < a {
			err = fmt.Errorf("%s ends before it begins", word)
		}
		if err != nil {
			return nil, fmt.Errorf("%q is no set such as 0-3,^2,8: %w", s, err)
		}
		for n := a; n <= b; n++ {
			set[int(n)] = !without
		}
	}
	var out []int
	for n, in := range set {
		if in {
			out = append(out, n)
		}
	}
	if len(out) == 0 {
		return nil, fmt.Errorf("%q is an empty set", s)
	}
	slices.Sort(out)
	return out, nil
}

// FormatCPUSet writes numbers, which are in order, as libvirt does: "0-1,3".
func FormatCPUSet(set []int) string {
	var b strings.Builder
	for i := 0; i < len(set); {
		j := i
		for j+1 < len(set) && set[j+1] == set[j]+1 {
			j++
		}
		if i > 0 {
			b.WriteByte(',')
		}
		b.WriteString(strconv.Itoa(set[i]))
		if j > i {
			b.WriteString("-" + strconv.Itoa(set[j]))
		}
		i = j + 1
	}
	return b.String()
}

// cpuSet allows sets of processors or nodes.
func cpuSet() rule {
	return func(v string, _ *Element) finding {
		if _, err := ParseCPUSet(v); err != nil {
			return finding{false, err.Error()}
		}
		return finding{}
	}
}
