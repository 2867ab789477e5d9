package main

import "fmt"

// maxReruns is how many failed tests may run again: more of them have a common cause.
const maxReruns = 5

// judge returns the failed tests that run again, or the reasons that make the run a failure for good: failures that are not a test's, a
// failed test of a package that never reruns, or too many failed tests. Nothing is rerun when there is a reason.
func judge(r *report, must map[string]bool) (rerun []failure, refused []string) {
	refused = append(refused, r.Broken...)
	for _, f := range r.Failed {
		if must[f.Package] {
			refused = append(refused, fmt.Sprintf("%s: %s (a test of this package is never run again: tools/lane/must.txt)", f.testID, f.Line))
		}
	}
	if n := len(r.Failed); n > maxReruns {
		refused = append(refused, fmt.Sprintf("%d tests failed; up to %d are run again", n, maxReruns))
	}
	if len(refused) > 0 {
		return nil, refused
	}
	return r.Failed, nil
}

// confirmed reports an error unless the test passed in both of its two runs and nothing else failed.
func confirmed(id testID, r *report) error {
	switch {
	case len(r.Broken) > 0:
		return fmt.Errorf("%s", r.Broken[0])
	case len(r.Failed) > 0:
		return fmt.Errorf("%s", r.Failed[0].Line)
	case r.Passed[id] != 2:
		return fmt.Errorf("it passed %d times of 2", r.Passed[id])
	}
	return nil
}
