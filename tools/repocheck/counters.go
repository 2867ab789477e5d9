package main

import (
	"fmt"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

const (
	// countersFile holds the cost of single operations, as taproom bench counters measured it.
	countersFile = "internal/bench/counters.txt"
	// sealFile has a line for each file of code that the operations execute: its path, a digest, and the functions that they execute.
	sealFile = "internal/bench/counters.sum"
)

// renewCounters is the remedy for both files.
const renewCounters = "; run make bench-counters RENEW=1 and commit both files"

// countedRooms hold the code of the operations: the rooms of the daemon.
var countedRooms = []string{"api", "appliance", "daemon", "engine", "guest", "host", "image", "network", "qemu", "spec"}

// confined is the package that runs between the daemon and QEMU. Its process becomes QEMU, so that coverage never sees it.
const confined = "internal/qemu/launch"

var (
	measuredOn = regexp.MustCompile(`(?m)^# Measured on (\d{4}-\d{2}-\d{2}) `)
	countLine  = regexp.MustCompile(`^[a-z_]+\.[a-z_]+( .+)? \d+$`)
	sealLine   = regexp.MustCompile(`^(\S+\.go) ([0-9a-f]{16})( \S+)*$`)
)

// freshCounters complains of counters that are missing or damaged. The notice names files whose counted code changed since the
// counters were measured. That is no complaint: only a measurement shows whether a count still holds, and the perf lane measures in
// each run. A test of internal/bench compares the names in the file with the measured operations.
func freshCounters(t *tree) (notice string, complaints []string) {
	date, err := countersDate(t.root)
	if err != nil {
		return "", []string{err.Error() + renewCounters}
	}
	sealed, err := readSeal(t.root)
	if err != nil {
		return "", []string{err.Error() + renewCounters}
	}
	changed, err := changedCode(t, sealed)
	if err != nil {
		return "", []string{err.Error()}
	}
	if len(changed) == 0 {
		return "", nil
	}
	names, more := changed, ""
	if n := len(changed) - 5; n > 0 {
		names, more = changed[:5], fmt.Sprintf(" and %d more", n)
	}
	return fmt.Sprintf("%s: stale: measured on %s, and code that it counts has changed since: %s%s; make bench-counters shows the differences",
		countersFile, date, strings.Join(names, ", "), more), nil
}

// countersDate checks the lines of the counters and returns the day of their measurement.
func countersDate(root string) (string, error) {
	text, err := os.ReadFile(filepath.Join(root, countersFile))
	if err != nil {
		return "", err
	}
	m := measuredOn.FindSubmatch(text)
	if m == nil {
		return "", fmt.Errorf("%s: no line says when it was measured", countersFile)
	}
	counts := 0
	for line := range strings.Lines(string(text)) {
		line = strings.TrimSuffix(line, "\n")
		switch {
		case strings.HasPrefix(line, "#"):
		case countLine.MatchString(line):
			counts++
		default:
			return "", fmt.Errorf("%s: %q is neither a comment nor a name and its number", countersFile, line)
		}
	}
	if counts == 0 {
		return "", fmt.Errorf("%s: it holds no counts", countersFile)
	}
	return string(m[1]), nil
}

// sealedFile is a line of sealFile.
type sealedFile struct {
	counted
	digest string
}

func readSeal(root string) ([]sealedFile, error) {
	text, err := os.ReadFile(filepath.Join(root, sealFile))
	if err != nil {
		return nil, err
	}
	var sealed []sealedFile
	for line := range strings.Lines(string(text)) {
		line = strings.TrimSuffix(line, "\n")
		if strings.HasPrefix(line, "#") {
			continue
		}
		if !sealLine.MatchString(line) {
			return nil, fmt.Errorf("%s: %q is no path, digest and functions", sealFile, line)
		}
		f := strings.Fields(line)
		sealed = append(sealed, sealedFile{counted{f[0], f[2:]}, f[1]})
	}
	if len(sealed) == 0 {
		return nil, fmt.Errorf("%s: it names no file", sealFile)
	}
	return sealed, nil
}

// changedCode returns the sealed files with another digest, including removed files. A new function shows in its caller.
func changedCode(t *tree, sealed []sealedFile) ([]string, error) {
	var changed []string
	for _, s := range sealed {
		is, err := t.digest(s.counted)
		if err != nil {
			return nil, err
		}
		if is != s.digest {
			changed = append(changed, s.path)
		}
	}
	return changed, nil
}

// sealCounters writes sealFile by a profile of `go tool covdata textfmt`, for a run that was measured with the code of the tree.
func sealCounters(t *tree, profile string) error {
	text, err := os.ReadFile(profile)
	if err != nil {
		return err
	}
	executed, err := parseProfile(string(text))
	if err != nil {
		return fmt.Errorf("%s: %w", profile, err)
	}
	code := t.countedCode(executed)
	if !slices.ContainsFunc(code, func(c counted) bool { return executed[c.path] != nil }) {
		return fmt.Errorf("%s: no function of the rooms %s was executed", profile, strings.Join(countedRooms, ", "))
	}
	var out strings.Builder
	fmt.Fprintf(&out, "# The code that the operations of %s execute: file, digest, functions. make bench-counters RENEW=1 writes it.\n", path.Base(countersFile))
	for _, c := range code {
		digest, err := t.digest(c)
		if err != nil {
			return err
		}
		fmt.Fprintln(&out, strings.Join(append([]string{c.path, digest}, c.functions...), " "))
	}
	return os.WriteFile(filepath.Join(t.root, sealFile), []byte(out.String()), 0o644)
}
