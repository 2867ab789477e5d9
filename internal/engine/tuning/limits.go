package tuning

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"taproom/internal/guest/tune"
	"taproom/internal/host"
	"taproom/internal/spec"
)

// Guest is where the kernel has a guest.
type Guest struct {
	Kernel  *host.Kernel
	Root    string // the cgroup from which controllers are enabled
	Cgroup  string // the guest's, below Root; "" where guests have none
	PID     int    // of its QEMU; 0 before it runs
	Threads []tune.Thread
}

// Limit brings the guest's cgroup to a document. Limits of threads need the Threads. A limit that the host's cgroups do not
// know is an error that wraps *host.Missing, unless the document leaves it alone.
func (g Guest) Limit(d *spec.Domain) error {
	var groups []string
	if g.Cgroup != "" {
		var err error
		if groups, err = g.Kernel.CgroupChildren(g.Cgroup); err != nil {
			return err
		}
	}
	limits, err := tune.Limits(d, g.names(), groups)
	if err != nil {
		return err
	}
	wanted := map[string][]string{} // devices by file
	for _, l := range limits {
		device, err := g.device(l)
		if err != nil {
			return err
		}
		if l.CPUs != nil {
			online, err := g.Kernel.OnlineCPUs()
			if err != nil {
				return err
			}
			l.Value = spec.FormatCPUSet(among(l.CPUs, online)) // that there are none is for Place to say
		}
		if err := g.limit(l, device); err != nil {
			return fmt.Errorf("%s: %w", describe(l), err)
		}
		if device != "" {
			wanted[l.File] = append(wanted[l.File], device)
		}
	}
	return g.forget(wanted)
}

// describe is what a limit is called in messages.
func describe(l tune.Limit) string {
	if l.Group != "" {
		return "limit " + l.File + " of " + l.Group
	}
	return "limit " + l.File
}

// names are the threads' names, with the one that all others have.
func (g Guest) names() []string {
	if g.PID == 0 {
		return nil
	}
	out := []string{tune.EmulatorGroup}
	for _, t := range g.Threads {
		out = append(out, t.Name)
	}
	return out
}

// device is the number of the host's device that a limit is of.
func (g Guest) device(l tune.Limit) (string, error) {
	if l.Device == "" {
		return "", nil
	}
	return g.Kernel.DeviceNumber(l.Device)
}

// limit brings one file to its value.
func (g Guest) limit(l tune.Limit, device string) error {
	if g.Cgroup == "" {
		if l.IsDefault() || l.Optional {
			return nil
		}
		return &host.Missing{What: "cgroup of the guest's own", Config: "a daemon that was given one (Delegate=yes)", Err: fs.ErrNotExist}
	}
	path := filepath.Join(g.Cgroup, l.Group)
	has, err := g.value(path, l, device)
	if l.Controller == "cpuset" && l.Value == "" && has != "" {
		// One with processes in it cannot be made empty again: it gets what its parent has.
		if l.Value, err = g.Kernel.ReadCgroup(filepath.Dir(path), l.File+".effective"); err != nil {
			return err
		}
	}
	switch {
	case err == nil && has == l.Value:
		return nil
	case errors.Is(err, fs.ErrNotExist) && l.IsDefault():
		return nil
	case err != nil && !errors.Is(err, fs.ErrNotExist):
		return err
	}
	if err != nil && l.Optional && !g.offers(l.Controller) {
		return nil
	}
	if l.Group != "" { // first, so that a value that is right says that the threads are there too
		if err := g.group(l.Group); err != nil {
			return err
		}
	}
	if err != nil {
		if err := g.Kernel.EnableController(g.Root, path, l.Controller); err != nil {
			return err
		}
	}
	value := l.Value
	if device != "" {
		value = device + " " + value
	}
	err = g.Kernel.WriteCgroup(path, l.File, value)
	if l.File == "io.weight" && errors.Is(err, unix.EOPNOTSUPP) {
		return &host.Missing{
			What: "share of " + l.Device + " for each guest", Err: err,
			Config: fmt.Sprintf("the disk's cost model: echo '%s enable=1' >%s", device, filepath.Join(g.Root, "io.cost.qos")),
		}
	}
	return err
}

// offers reports whether the host's cgroups have a controller.
func (g Guest) offers(controller string) bool {
	has, err := g.Kernel.ReadCgroup(g.Root, "cgroup.controllers")
	return err == nil && slices.Contains(strings.Fields(has), controller)
}

// value is what the kernel has, the default where it lists devices and not this one.
func (g Guest) value(path string, l tune.Limit, device string) (string, error) {
	text, err := g.Kernel.ReadCgroup(path, l.File)
	if err != nil {
		return "", err
	}
	if l.Controller != "io" {
		return text, nil
	}
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		if device == "" && strings.HasPrefix(line, "default ") {
			return line, nil
		}
		if rest, ok := strings.CutPrefix(line, device+" "); ok && device != "" {
			return rest, nil
		}
	}
	return l.Default, nil
}

// group makes a cgroup of threads, and moves them there.
func (g Guest) group(name string) error {
	if err := g.Kernel.MakeThreadGroup(g.Cgroup, name); err != nil {
		return err
	}
	tids, err := g.named(name)
	if err != nil {
		return err
	}
	for _, tid := range tids {
		if err := g.Kernel.MoveThread(filepath.Join(g.Cgroup, name), tid); err != nil {
			return err
		}
	}
	return nil
}

// named are the threads of that name.
func (g Guest) named(name string) ([]int, error) {
	var out []int
	known := map[int]bool{}
	for _, t := range g.Threads {
		known[t.TID] = true
		if t.Name == name {
			out = append(out, t.TID)
		}
	}
	if name != tune.EmulatorGroup {
		return out, nil
	}
	all, err := g.Kernel.Threads(g.PID)
	return slices.DeleteFunc(all, func(tid int) bool { return known[tid] }), err
}

// forget takes away the limits of devices that the document does not name any more.
func (g Guest) forget(wanted map[string][]string) error {
	if g.Cgroup == "" {
		return nil
	}
	for file, unlimited := range map[string]string{"io.max": "rbps=max wbps=max riops=max wiops=max", "io.weight": "default"} {
		text, err := g.Kernel.ReadCgroup(g.Cgroup, file)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return err
		}
		for line := range strings.Lines(text) {
			device, value, _ := strings.Cut(strings.TrimSpace(line), " ")
			if device == "" || device == "default" || slices.Contains(wanted[file], device) || value == unlimited {
				continue
			}
			if err := g.Kernel.WriteCgroup(g.Cgroup, file, device+" "+unlimited); err != nil {
				return err
			}
		}
	}
	return nil
}
