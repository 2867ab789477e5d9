package bench

import (
	"bufio"
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"
)

// The counts of an operation, as they are named behind it: network_start.programs.
const (
	countPrograms   = "programs"
	countQEMUStarts = "qemu_starts"
	countHostCalls  = "host_calls"
	countNetlink    = "netlink_messages"
	countAllocated  = "allocated_bytes"
)

// allocatedPercent is by how much allocated_bytes have to differ: the same build allocates 239 kB or 246 kB to start a network,
// which is 3 % more. All other counts are exact.
const allocatedPercent = 5

// CountTable holds the counts of a run, and their differences from the counts of a file.
type CountTable struct {
	Operations  []Operation `json:"operations"`
	File        string      `json:"file,omitempty"`
	Differences []string    `json:"differences"` // name was → is
	// FileWith and With are kernel, QEMU and Go of the file and of this run. With others a count may differ without a change of code.
	FileWith string `json:"file_with,omitempty"`
	With     string `json:"with"`
}

// Operation holds the cost of an operation.
type Operation struct {
	Name       string            `json:"name"`
	Programs   uint64            `json:"programs"` // processes that executed a program
	QEMUStarts uint64            `json:"qemu_starts"`
	HostCalls  uint64            `json:"host_calls"`
	Netlink    uint64            `json:"netlink_messages"`
	Allocated  uint64            `json:"allocated_bytes"`
	Calls      map[string]uint64 `json:"calls"` // into the host, by name
}

// count is a line of the file.
type count struct {
	name  string
	value uint64
}

// counts returns the lines of an operation. Each call into the host has its own, so that a difference says which call it is.
func (o Operation) counts() []count {
	out := []count{
		{o.Name + "." + countPrograms, o.Programs},
		{o.Name + "." + countQEMUStarts, o.QEMUStarts},
		{o.Name + "." + countNetlink, o.Netlink},
		{o.Name + "." + countAllocated, o.Allocated},
		{o.Name + "." + countHostCalls, o.HostCalls},
	}
	for _, call := range slices.Sorted(maps.Keys(o.Calls)) {
		out = append(out, count{o.Name + "." + countHostCalls + " " + call, o.Calls[call]})
	}
	return out
}

// counterFile is the text of a file of counts: comments, then a name and a number a line.
const counterFile = `# The cost of one operation, as taproom bench counters measures it. Compare with make bench-counters; renew with
# make bench-counters RENEW=1. allocated_bytes differ from %d %% on, and renewing keeps a value that differs less; all others are exact.
# Measured on %s with %s.
`

// measuredWith finds the kernel, QEMU and Go in a file.
var measuredWith = regexp.MustCompile(`(?m)^# Measured on \S+ with (.+)\.$`)

// with names the kernel, QEMU and Go, on which counts depend as well as on taproom's code.
func with(h Host) string {
	return fmt.Sprintf("Linux %s, QEMU %s, %s", h.Kernel, h.QEMU, runtime.Version())
}

// writeCounters writes a file. A count that does not differ from the old file's stays as it was, so that a renewal shows
// differences alone, and small differences add up until they show.
func writeCounters(path string, h Host, old map[string]uint64, operations []Operation) error {
	var b bytes.Buffer
	fmt.Fprintf(&b, counterFile, allocatedPercent, time.Now().UTC().Format(time.DateOnly), with(h))
	for _, o := range operations {
		for _, c := range o.counts() {
			if was, ok := old[c.name]; ok && !differs(c.name, was, c.value) {
				c.value = was
			}
			fmt.Fprintln(&b, c.name, c.value)
		}
	}
	return os.WriteFile(path, b.Bytes(), 0o644)
}

// readCounters reads a file and the versions it was measured with. "" is no file, and a file that is to be written may be missing.
func readCounters(path string, missing bool) (counts map[string]uint64, with string, err error) {
	if path == "" {
		return nil, "", nil
	}
	text, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) && missing {
		return nil, "", nil
	}
	if err != nil {
		return nil, "", fmt.Errorf("read the counts to compare with: %w; --renew writes them", err)
	}
	if m := measuredWith.FindSubmatch(text); m != nil {
		with = string(m[1])
	}
	counts, err = parseCounters(path, text)
	return counts, with, err
}

func parseCounters(path string, text []byte) (map[string]uint64, error) {
	counts := map[string]uint64{}
	lines := bufio.NewScanner(bytes.NewReader(text))
	for n := 1; lines.Scan(); n++ {
		line := lines.Text()
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		i := max(0, strings.LastIndexByte(line, ' '))
		value, err := strconv.ParseUint(strings.TrimSpace(line[i:]), 10, 64)
		if _, twice := counts[line[:i]]; err != nil || i == 0 || twice {
			return nil, fmt.Errorf("%s, line %d: %q is not a new name and its number", path, n, line)
		}
		counts[line[:i]] = value
	}
	return counts, lines.Err()
}

// compareCounters returns a line for each count that differs: counts of the operations in their order, then counts that only the
// file has.
func compareCounters(old map[string]uint64, operations []Operation) []string {
	out := []string{}
	gone := maps.Clone(old)
	for _, o := range operations {
		for _, c := range o.counts() {
			was, ok := old[c.name]
			delete(gone, c.name)
			switch {
			case !ok:
				out = append(out, fmt.Sprintf("%s none → %d", c.name, c.value))
			case differs(c.name, was, c.value):
				out = append(out, fmt.Sprintf("%s %d → %d", c.name, was, c.value))
			}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(gone)) {
		out = append(out, fmt.Sprintf("%s %d → none", name, gone[name]))
	}
	return out
}

// differs compares two values of a count by the rule for its name.
func differs(name string, was, is uint64) bool {
	if strings.HasSuffix(name, "."+countAllocated) {
		return was != is && 100*(max(was, is)-min(was, is)) >= allocatedPercent*was
	}
	return was != is
}

// writeText prints how the counts differ from the file's.
func (t *CountTable) writeText(w io.Writer) {
	if t.File == "" {
		return
	}
	if len(t.Differences) == 0 {
		fmt.Fprintf(w, "no difference from %s\n", t.File)
		return
	}
	fmt.Fprintf(w, "%d differences from %s:\n", len(t.Differences), t.File)
	for _, d := range t.Differences {
		fmt.Fprintln(w, "  "+d)
	}
	if t.FileWith != t.With {
		fmt.Fprintf(w, "the file was measured with %s; this is %s\n", cmp.Or(t.FileWith, "an unknown kernel, QEMU and Go"), t.With)
	}
}
