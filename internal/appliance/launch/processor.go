package launch

import (
	"slices"
	"strings"
)

// firstProcessor returns the lines of /proc/cpuinfo that say what a processor can do.
func firstProcessor(cpuinfo string) string {
	first, _, _ := strings.Cut(cpuinfo, "\n\n")
	wanted := []string{"vendor_id", "cpu family", "model", "model name", "stepping", "microcode", "flags"}
	var out []string
	for line := range strings.Lines(first) {
		name, _, _ := strings.Cut(line, ":")
		if slices.Contains(wanted, strings.TrimSpace(name)) {
			out = append(out, strings.Join(strings.Fields(line), " "))
		}
	}
	return strings.Join(out, "\n")
}
