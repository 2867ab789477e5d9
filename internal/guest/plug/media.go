package plug

import (
	"fmt"
	"slices"

	"taproom/internal/qemu"
	"taproom/internal/spec"
)

// drive is a drive that gets another medium.
type drive struct {
	id       string
	from, to any // the node that is in it; nil for none
}

// mediaOut finds the drives whose medium changes and empties them.
func (d *difference) mediaOut() error {
	_, _, changed := compare(d.from.Blockdevs, d.to.Blockdevs, node)
	stale := touched(d.from, changed)
	for _, p := range d.to.Devices {
		i := slices.IndexFunc(d.from.Devices, func(q qemu.Props) bool { return deviceID(p) == deviceID(q) })
		if i < 0 {
			continue
		}
		from, to := d.from.Devices[i].Get("drive"), p.Get("drive")
		if from == to && !stale[fmt.Sprint(from)] {
			continue
		}
		if !removable(p) {
			return &FixedError{What: "device " + deviceID(p), Why: "it has no medium that could be changed"}
		}
		d.media = append(d.media, drive{deviceID(p), from, to})
	}
	for _, m := range d.media {
		if m.from != nil {
			d.add(Eject(m.id)...)
		}
	}
	return nil
}

// removable reports whether a device's medium can be changed.
func removable(p qemu.Props) bool {
	driver := p.Get("driver")
	return driver == "ide-cd" || driver == "scsi-cd" || driver == "floppy"
}

// Eject opens a drive and takes its medium out.
func Eject(id string) []Step {
	open := step("blockdev-open-tray", "id", id, "force", false)
	open.Opens = id
	return []Step{open, step("blockdev-remove-medium", "id", id)}
}

// Forced are the same steps for a guest that is not asked whether a tray may be opened.
func Forced(steps []Step) []Step {
	out := slices.Clone(steps)
	for i := range out {
		if out[i].Opens != "" {
			out[i] = step(out[i].Command, "id", out[i].Opens, "force", true)
			out[i].Opens = steps[i].Opens
		}
	}
	return out
}

// Empty takes the medium of a drive out of a document.
func Empty(doc *spec.Domain, id string) {
	for i := range doc.Devices.Disks {
		if k := &doc.Devices.Disks[i]; k.Alias != nil && k.Alias.Name == id {
			k.Source, k.BackingStore = nil, nil
		}
	}
}

// mediaIn puts the new media in. A guest may have closed the empty drive meanwhile: SeaBIOS does when it looks for disks.
func (d *difference) mediaIn() error {
	for _, m := range d.media {
		if m.to != nil {
			d.add(step("blockdev-open-tray", "id", m.id, "force", true))
			d.add(step("blockdev-insert-medium", "id", m.id, "node-name", m.to), step("blockdev-close-tray", "id", m.id))
		}
	}
	return nil
}

// touched are the nodes that are among changed or stand on one that is.
func touched(c *qemu.Config, changed []qemu.Props) map[string]bool {
	out := map[string]bool{}
	for _, p := range changed {
		out[node(p)] = true
	}
	for _, p := range c.Blockdevs { // what stands below comes first
		for _, q := range p {
			if s, ok := q.Value.(string); ok && q.Key != "node-name" && out[s] {
				out[node(p)] = true
			}
		}
	}
	return out
}
