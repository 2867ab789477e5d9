package plug_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"taproom/internal/guest/plug"
	"taproom/internal/qemu"
)

// model is what a QEMU has, by name, with what each thing uses. It refuses what QEMU refuses: what is there already, what
// uses something that is not there, and removing what is used.
type model struct {
	has  map[string][]string // "device x": what it uses
	tray map[string]bool     // open, by drive
	fds  map[string]bool
}

// running is the model of a guest that was started with a configuration.
func running(c *qemu.Config) *model {
	m := &model{has: map[string][]string{}, tray: map[string]bool{}, fds: map[string]bool{}}
	for _, s := range c.FDSets {
		m.has[s.Path()] = nil
	}
	for _, o := range c.Objects {
		m.has["object "+text(o, "id")] = uses(o)
	}
	for _, o := range c.Chardevs {
		m.has["chardev "+o.ID] = uses(o.Props)
	}
	for _, o := range c.Blockdevs {
		m.has["node "+text(o, "node-name")] = uses(o)
	}
	for _, o := range c.Netdevs {
		m.has["netdev "+text(o, "id")] = uses(o)
	}
	for _, o := range c.Devices {
		if text(o, "id") != "" {
			m.has["device "+text(o, "id")] = uses(o)
		}
	}
	return m
}

func text(p qemu.Props, key string) string {
	s, _ := p.Get(key).(string)
	return s
}

// uses are what properties refer to.
func uses(p qemu.Props) []string {
	var out []string
	for _, q := range p {
		s, ok := q.Value.(string)
		switch {
		case !ok:
		case q.Key == "rng":
			out = append(out, "object "+s)
		case q.Key == "chardev":
			out = append(out, "chardev "+s)
		case q.Key == "netdev":
			out = append(out, "netdev "+s)
		case q.Key == "drive" || q.Key == "file" || q.Key == "backing":
			out = append(out, "node "+s)
		case q.Key == "bus":
			out = append(out, "device "+strings.TrimSuffix(s, ".0"))
		case strings.HasPrefix(s, "/dev/fdset/"):
			out = append(out, s)
		}
	}
	slices.Sort(out)
	return out
}

// do executes a step.
func (m *model) do(s plug.Step) error {
	arg := func(key string) string { return text(s.Args, key) }
	switch s.Command {
	case "add-fd":
		m.has[fmt.Sprint("/dev/fdset/", s.Args.Get("fdset-id"))] = nil
	case "getfd":
		m.fds[arg("fdname")] = true
	case "object-add":
		return m.add("object "+arg("id"), uses(s.Args))
	case "chardev-add":
		return m.add("chardev "+arg("id"), backendUses(s.Args))
	case "blockdev-add":
		return m.add("node "+arg("node-name"), uses(s.Args))
	case "netdev_add":
		return m.add("netdev "+arg("id"), uses(s.Args))
	case "device_add":
		return m.add("device "+arg("id"), uses(s.Args))
	case "device_del":
		return m.remove("device " + arg("id"))
	case "netdev_del":
		return m.remove("netdev " + arg("id"))
	case "blockdev-del":
		return m.remove("node " + arg("node-name"))
	case "object-del":
		return m.remove("object " + arg("id"))
	case "chardev-remove":
		return m.remove("chardev " + arg("id"))
	case "remove-fd":
		return m.remove(fmt.Sprint("/dev/fdset/", s.Args.Get("fdset-id")))
	case "blockdev-open-tray", "blockdev-close-tray":
		m.tray[arg("id")] = s.Command == "blockdev-open-tray"
	case "blockdev-remove-medium", "blockdev-insert-medium":
		return m.medium(arg("id"), arg("node-name"))
	case "set_link", "set-action", "block_set_io_throttle":
	default:
		return fmt.Errorf("%s is not known", s.Command)
	}
	return nil
}

// backendUses are the sets that a chardev's backend opens.
func backendUses(p qemu.Props) []string {
	backend, _ := p.Get("backend").(qemu.Props)
	data, _ := backend.Get("data").(qemu.Props)
	return uses(data)
}

func (m *model) add(what string, use []string) error {
	if _, there := m.has[what]; there {
		return fmt.Errorf("%s is there already", what)
	}
	for _, u := range use {
		if _, there := m.has[u]; !there && !strings.HasPrefix(u, "device ") { // a bus may be on board
			return fmt.Errorf("%s uses %s, which is not there", what, u)
		}
	}
	m.has[what] = use
	return nil
}

func (m *model) remove(what string) error {
	if _, there := m.has[what]; !there {
		return fmt.Errorf("%s is not there", what)
	}
	for other, use := range m.has {
		if slices.Contains(use, what) {
			return fmt.Errorf("%s is used by %s", what, other)
		}
	}
	delete(m.has, what)
	return nil
}

func (m *model) medium(id, node string) error {
	if !m.tray[id] {
		return fmt.Errorf("the tray of %s is not open", id)
	}
	use := slices.DeleteFunc(slices.Clone(m.has["device "+id]), func(s string) bool { return strings.HasPrefix(s, "node ") })
	if node != "" {
		use = append(use, "node "+node)
	}
	slices.Sort(use)
	slices.Sort(use)
	m.has["device "+id] = use
	return nil
}

// String is all there is, for comparison.
func (m *model) String() string {
	var out []string
	for _, k := range slices.Sorted(maps.Keys(m.has)) {
		out = append(out, k+" ("+strings.Join(m.has[k], ", ")+")")
	}
	return strings.Join(out, "\n")
}
