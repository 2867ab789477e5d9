package agent

import (
	"path/filepath"
	"strings"

	"taproom/internal/appliance/pid1"
)

// scanner finds what the devices in a sysfs ask for, each thing once.
type scanner struct {
	sys     string
	seen    map[string]bool // paths: reading a file again costs more than it can tell
	wanted  map[string]bool
	waiting [leastUrgent + 1][]string
}

func newScanner(sys string) *scanner {
	return &scanner{sys: sys, seen: map[string]bool{}, wanted: map[string]bool{}}
}

// scan looks for devices that were not there before.
func (s *scanner) scan() {
	for _, bus := range pid1.ReadNames(filepath.Join(s.sys, "bus")) {
		devices := filepath.Join(s.sys, "bus", bus, "devices")
		for _, device := range pid1.ReadNames(devices) {
			path := filepath.Join(devices, device)
			if s.seen[path] {
				continue
			}
			s.seen[path] = true
			if want := pid1.ReadText(filepath.Join(path, "modalias")); want != "" && !s.wanted[want] {
				s.wanted[want] = true
				u := urgency(want)
				s.waiting[u] = append(s.waiting[u], want)
			}
		}
	}
}

// next returns the most urgent of what was found and not returned yet.
func (s *scanner) next() ([]string, bool) {
	for u, list := range s.waiting {
		if len(list) > 0 {
			s.waiting[u] = nil
			return list, true
		}
	}
	return nil, false
}

const leastUrgent = 5

// urgency orders devices: the host's port and what leads to it, NICs, buttons, everything else.
func urgency(want string) int {
	switch {
	case strings.HasPrefix(want, "virtio:d00000003v"): // console
		return 0
	case strings.HasPrefix(want, "pci:v00001AF4"):
		return 1
	case strings.HasPrefix(want, "virtio:d00000001v"): // network
		return 2
	case strings.HasPrefix(want, "pci:") && strings.Contains(want, "bc02sc"): // network
		return 3
	case strings.HasPrefix(want, "virtio:"), strings.HasPrefix(want, "acpi:"):
		return 4
	}
	return leastUrgent
}
