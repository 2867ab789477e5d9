package qga

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// ErrVCPUs means that a guest's processors cannot be as they are wanted.
var ErrVCPUs = errors.New("the guest cannot have its processors so")

// Toward is what has to change so that n of a guest's processors are in use: the first that are not, or the last that may be
// given up.
func Toward(cpus []VCPU, n int) ([]VCPU, error) {
	cpus = slices.Clone(cpus)
	slices.SortFunc(cpus, func(a, b VCPU) int { return int(min(max(a.ID-b.ID, -1), 1)) })
	online := 0
	for _, c := range cpus {
		if c.Online {
			online++
		}
	}
	if n > len(cpus) {
		return nil, fmt.Errorf("%w: requested vcpu count is greater than the count of enabled vcpus in the domain: %d > %d", ErrVCPUs, n, len(cpus))
	}
	var change []VCPU
	for i := range cpus {
		if c := cpus[i]; online < n && !c.Online {
			change = append(change, VCPU{ID: c.ID, Online: true})
			online++
		}
		if c := cpus[len(cpus)-1-i]; online > n && c.Online && c.CanOffline {
			change = append(change, VCPU{ID: c.ID})
			online--
		}
	}
	if online != n {
		return nil, fmt.Errorf("%w: %d of them cannot be given up", ErrVCPUs, online)
	}
	return change, nil
}

// ChangeVCPUs takes processors into use, or out of it, all of them or with an error.
func (c *Client) ChangeVCPUs(ctx context.Context, cpus []VCPU) error {
	for len(cpus) > 0 {
		done, err := c.SetVCPUs(ctx, cpus)
		if err != nil {
			return err
		}
		if done <= 0 || done > len(cpus) {
			return fmt.Errorf("%w: it changed %d of %d", ErrVCPUs, done, len(cpus))
		}
		cpus = cpus[done:]
	}
	return nil
}

// Set writes numbers as libvirt writes sets of processors: 0-3,7. They are sorted in place.
func Set(numbers []int64) string {
	slices.Sort(numbers)
	numbers = slices.Compact(numbers)
	var parts []string
	for i := 0; i < len(numbers); {
		j := i
		for j+1 < len(numbers) && numbers[j+1] == numbers[j]+1 {
			j++
		}
		part := strconv.FormatInt(numbers[i], 10)
		if j > i {
			part += "-" + strconv.FormatInt(numbers[j], 10)
		}
		parts = append(parts, part)
		i = j + 1
	}
	return strings.Join(parts, ",")
}

// maxVCPU bounds the numbers that a set may name.
const maxVCPU = 1 << 14

// ParseSet reads what Set writes; ^2 takes a number out again.
func ParseSet(text string) ([]int64, error) {
	in := map[int64]bool{}
	for part := range strings.SplitSeq(text, ",") {
		part = strings.TrimSpace(part)
		rest, without := strings.CutPrefix(part, "^")
		from, to, isRange := strings.Cut(rest, "-")
		if !isRange {
			to = from
		}
		a, errA := strconv.ParseUint(from, 10, 32)
		b, errB := strconv.ParseUint(to, 10, 32)
		if errA != nil || errB != nil || a > b || b >= maxVCPU || without && isRange {
			return nil, fmt.Errorf("%q is no set of processors: want numbers below %d and ranges, such as 0-3,7", text, maxVCPU)
		}
		for n := a; n <= b; n++ {
			in[int64(n)] = !without
		}
	}
	var out []int64
	for n, wanted := range in {
		if wanted {
			out = append(out, n)
		}
	}
	slices.Sort(out)
	return out, nil
}
