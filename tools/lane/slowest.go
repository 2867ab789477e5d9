package main

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"slices"
	"time"
)

// printSlowest prints the n tests and packages that took longest.
func printSlowest(w io.Writer, n int, reports ...*report) {
	tests, packages := map[string]time.Duration{}, map[string]time.Duration{}
	for _, r := range reports {
		for id, d := range r.Tests {
			tests[id.String()] = max(tests[id.String()], d)
		}
		for p, d := range r.Packages {
			packages[p] = max(packages[p], d)
		}
	}
	printLongest(w, fmt.Sprintf("the %d slowest tests", n), n, tests)
	printLongest(w, fmt.Sprintf("the %d slowest packages", n), n, packages)
}

func printLongest(w io.Writer, title string, n int, took map[string]time.Duration) {
	if len(took) == 0 {
		return
	}
	names := slices.SortedFunc(maps.Keys(took), func(a, b string) int {
		return cmp.Or(cmp.Compare(took[b], took[a]), cmp.Compare(a, b))
	})
	fmt.Fprintf(w, "=== %s\n", title)
	for _, name := range names[:min(n, len(names))] {
		fmt.Fprintf(w, "%8.1f s  %s\n", took[name].Seconds(), name)
	}
}
