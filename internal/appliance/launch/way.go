package launch

import (
	"fmt"
	"strings"
)

// Way is how an appliance comes to be.
type Way int

// The ways. WayAuto takes the fastest that works here.
const (
	WayAuto     Way = iota
	WayCold         // a QEMU boots
	WayTemplate     // a QEMU goes on where a template stopped
	WayPool         // a clone that was made beforehand, from the user's pool process
	WayLibvirt      // a domain of a libvirt daemon, such as taproomd
	WayUML          // User-Mode Linux
)

var wayNames = []string{"auto", "cold", "template", "pool", "libvirt", "uml"}

// String returns the name that ParseWay takes.
func (w Way) String() string {
	if w < 0 || int(w) >= len(wayNames) {
		return fmt.Sprintf("way %d", int(w))
	}
	return wayNames[w]
}

// ParseWay reads the name of a way.
func ParseWay(name string) (Way, error) {
	for i, n := range wayNames {
		if n == name {
			return Way(i), nil
		}
	}
	return WayAuto, fmt.Errorf("%q is no way to launch an appliance; use one of %s", name, strings.Join(wayNames, ", "))
}
