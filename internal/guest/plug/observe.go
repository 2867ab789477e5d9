package plug

import (
	"slices"
	"strings"

	"taproom/internal/guest"
	"taproom/internal/qemu"
	"taproom/internal/qemu/qmp"
)

// Observed is what a QEMU has, as it says itself.
type Observed struct {
	devices  []named
	objects  []named
	nodes    []blockNode
	chardevs []chardev
	sets     []fdset
	drives   []blockDrive
}

type named struct {
	Name string `json:"name"`
}

type blockNode struct {
	Name string `json:"node-name"`
	File string `json:"file"` // /dev/fdset/3: which tells one medium from the next in the same drive
}

type chardev struct {
	Label string `json:"label"`
}

type fdset struct {
	ID int `json:"fdset-id"`
}

type blockDrive struct {
	QDev     string `json:"qdev"`
	Inserted *struct {
		Node string `json:"node-name"`
		limits
	} `json:"inserted"`
}

// limits are how a drive is bounded.
type limits struct {
	BPS     int64 `json:"bps"`
	BPSIn   int64 `json:"bps_rd"`
	BPSOut  int64 `json:"bps_wr"`
	IOPS    int64 `json:"iops"`
	IOPSIn  int64 `json:"iops_rd"`
	IOPSOut int64 `json:"iops_wr"`
}

// Queries ask for all of it. What QEMU answers is in o when they were executed.
func (o *Observed) Queries() []qmp.Command {
	return []qmp.Command{
		{Name: "qom-list", Args: map[string]string{"path": "/machine/peripheral"}, Reply: &o.devices},
		{Name: "qom-list", Args: map[string]string{"path": "/objects"}, Reply: &o.objects},
		{Name: "query-named-block-nodes", Args: map[string]bool{"flat": true}, Reply: &o.nodes},
		{Name: "query-chardev", Reply: &o.chardevs},
		{Name: "query-fdsets", Reply: &o.sets},
		{Name: "query-block", Reply: &o.drives},
	}
}

// Has reports whether there is a device of that name.
func (o *Observed) Has(device string) bool { return slices.Contains(o.devices, named{device}) }

// Missing are the devices of a configuration that QEMU does not have: they were never plugged in, or are gone.
func (o *Observed) Missing(c *qemu.Config) []string {
	var out []string
	for _, p := range c.Devices {
		if s, ok := p.Get("id").(string); ok && !o.Has(s) {
			out = append(out, s)
		}
	}
	return out
}

// Other are the drives that have another medium than the configuration says, or one where it says none, or none.
func (o *Observed) Other(c *qemu.Config) []string {
	var out []string
	others := touched(c, o.others(c))
	for _, p := range c.Devices {
		id, _ := p.Get("id").(string)
		want, _ := p.Get("drive").(string)
		if in, is := o.medium(id); is && removable(p) && (in != want || others[in]) {
			out = append(out, id)
		}
	}
	return out
}

// others are the nodes that read another file than the configuration says.
func (o *Observed) others(c *qemu.Config) []qemu.Props {
	var out []qemu.Props
	for _, p := range c.Blockdevs {
		for _, n := range o.nodes {
			if f := p.Get("filename"); f != nil && node(p) == n.Name && f != n.File {
				out = append(out, p)
			}
		}
	}
	return out
}

// medium is the node in a drive, "" for an empty one. What a device has that calls no drive its own cannot be told.
func (o *Observed) medium(id string) (node string, is bool) {
	for _, d := range o.drives {
		path, _ := strings.CutPrefix(d.QDev, "/machine/peripheral/")
		if name, _, _ := strings.Cut(path, "/"); name != id {
			continue
		}
		if d.Inserted != nil {
			node = d.Inserted.Node
		}
		return node, true
	}
	return "", false
}

// Sweep removes from QEMU what it has of from and should not have, now that it should have to: what a device left that is
// gone or that never came to be. Devices stay: they go when their guest lets go of them.
func (o *Observed) Sweep(from, to *qemu.Config) []Step {
	var out []Step
	for _, n := range from.Netdevs { // nothing lists them
		if !slices.ContainsFunc(to.Netdevs, func(p qemu.Props) bool { return id(p) == id(n) }) {
			out = append(out, lenient(step("netdev_del", "id", n.Get("id"))))
			out = append(out, forgetFiles(n.Files())...)
		}
	}
	devices, _, _ := compare(from.Devices, to.Devices, deviceID)
	for _, p := range devices { // one that was refused may have left a descriptor
		out = append(out, forgetFiles(p.Files())...)
	}
	for _, n := range o.nodes { // QEMU lists the newest first: what uses others before these. An administrator's stay
		is := func(p qemu.Props) bool { return node(p) == n.Name }
		own := guest.OwnNode(n.Name) || slices.ContainsFunc(from.Blockdevs, is)
		if own && !slices.ContainsFunc(to.Blockdevs, is) {
			out = append(out, step("blockdev-del", "node-name", n.Name))
		}
	}
	gone, _, _ := compare(from.Objects, to.Objects, id)
	for _, p := range slices.Backward(gone) {
		if slices.Contains(o.objects, named{id(p)}) {
			out = append(out, step("object-del", "id", id(p)))
		}
	}
	chardevs, _, _ := compare(from.Chardevs, to.Chardevs, label)
	for _, c := range slices.Backward(chardevs) {
		if slices.Contains(o.chardevs, chardev{c.ID}) {
			out = append(out, step("chardev-remove", "id", c.ID))
		}
		out = append(out, forgetFiles(c.Props.Files())...)
	}
	for _, s := range o.sets {
		if !slices.ContainsFunc(to.FDSets, func(w qemu.FDSet) bool { return w.ID == s.ID }) {
			out = append(out, lenient(step("remove-fd", "fdset-id", s.ID))) // it goes with the last that had it open
		}
	}
	return out
}

// forgetFiles closes descriptors that were passed to QEMU and that nothing took.
func forgetFiles(names []string) []Step {
	var out []Step
	for _, n := range names {
		out = append(out, lenient(step("closefd", "fdname", n)))
	}
	return out
}

// Again sets what whoever changed the guest may not have got to: the state of links that documents speak of, and how drives
// are bounded.
func (o *Observed) Again(s guest.Startup) []Step {
	was := guest.Startup{LinksDown: s.LinksUp, Passwords: s.Passwords}
	for _, d := range o.drives {
		if d.Inserted != nil && d.Inserted.limits != (limits{}) {
			was.Throttles = append(was.Throttles, guest.Throttle{Device: d.QDev})
		}
	}
	return settings(was, s)
}

func lenient(s Step) Step {
	s.Lenient = true
	return s
}
