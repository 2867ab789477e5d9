package main

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"regexp"
	"slices"
	"strings"
	"text/tabwriter"
	"time"
)

// report writes what became of the tests and returns whether all is well: no test fails anywhere, and each that is skipped
// on one kernel runs on another. With one kernel alone that cannot be told.
func report(w io.Writer, all []results) bool {
	head := tabwriter.NewWriter(w, 0, 8, 2, ' ', 0)
	fmt.Fprintln(head, "kernel\tran\tskipped\tfailed\ttook")
	for _, r := range all {
		fmt.Fprintf(head, "%s\t%d\t%d\t%d\t%v\n", r.kernel, r.count("pass")+r.count("fail"), r.count("skip"), r.count("fail"), r.took.Round(time.Second))
	}
	_ = head.Flush()
	skipped, never := skips(w, all)
	if skipped > 0 && len(all) > 1 {
		fmt.Fprintf(w, "\n%d tests are skipped on some kernel, %d of them on all\n", skipped, never)
	}
	ok := never == 0 || len(all) == 1
	for _, r := range all {
		for _, t := range r.sorted() {
			if o := r.tests[t]; o.action == "fail" {
				ok = false
				fmt.Fprintf(w, "\nFAIL on %s: %s %s\n%s\n", r.kernel, t.folder, t.name, indent(o.output))
			}
		}
		for _, b := range r.broken {
			ok = false
			fmt.Fprintf(w, "\nFAIL on %s: %s\n", r.kernel, b)
		}
	}
	return ok
}

// skips writes a line for each test that was skipped on a kernel, and what it said, and counts them.
func skips(w io.Writer, all []results) (skipped, never int) {
	tests := map[test]bool{}
	for _, r := range all {
		for t, o := range r.tests {
			if o.action == "skip" {
				tests[t] = true
			}
		}
	}
	for _, t := range slices.SortedFunc(maps.Keys(tests), byName) {
		skipped++
		ran := false
		fmt.Fprintf(w, "\n%s %s\n", t.folder, t.name)
		for _, r := range all {
			o, known := r.tests[t]
			if !known { // a subtest of one that was skipped, or one that was not asked for
				o.action = "-"
			}
			ran = ran || o.action == "pass" || o.action == "fail"
			fmt.Fprintf(w, "  %-24s %s\n", r.kernel, strings.TrimRight(o.action+": "+reason(o), ": "))
		}
		if !ran {
			never++
			if len(all) > 1 {
				fmt.Fprintf(w, "  %-24s %s\n", "NEVER", "no kernel of the lab runs it")
			}
		}
	}
	return skipped, never
}

// position is where a test said something.
var position = regexp.MustCompile(`(?m)^\s*\w+\.go:\d+: `)

// reason is why a test was skipped.
func reason(o outcome) string {
	if o.action != "skip" {
		return ""
	}
	return strings.Join(strings.Fields(position.ReplaceAllString(o.output, "")), " ")
}

func (r results) sorted() []test { return slices.SortedFunc(maps.Keys(r.tests), byName) }

func byName(a, b test) int {
	return cmp.Or(cmp.Compare(a.folder, b.folder), cmp.Compare(a.name, b.name))
}

func indent(s string) string { return "    " + strings.ReplaceAll(s, "\n", "\n    ") }
