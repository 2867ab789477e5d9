package crashtest

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"taproom/internal/api/client"
	"taproom/internal/api/remote"
	"taproom/internal/qemu/emutest"
	"taproom/internal/qemu/qmp"
	"taproom/internal/spec"
)

// Flags of what a change affects, and of documents.
const (
	affectLive   = 1
	affectConfig = 2
	xmlInactive  = 2
)

// attach, detach and update are requests about devices.
func attach(o *object, xml string, flags uint32) step {
	return device("attach to", remote.ProcDomainAttachDeviceFlags, o, xml, flags)
}

func detach(o *object, xml string, flags uint32) step {
	return device("detach from", remote.ProcDomainDetachDeviceFlags, o, xml, flags)
}

func update(o *object, xml string, flags uint32) step {
	return device("update a device of", remote.ProcDomainUpdateDeviceFlags, o, xml, flags)
}

func device(name string, procedure uint32, o *object, xml string, flags uint32) step {
	return step{name, o, func(ctx context.Context, c *client.Client) error {
		return void(ctx, c, procedure, &remote.DomainStringFlags{Domain: o.domain(), S: xml, Flags: flags})
	}, o.belief}
}

// qemuHas is what a QEMU has, as it says while no daemon talks to it.
type qemuHas struct {
	devices, objects, nodes, chardevs, sets, media []string
}

// ask connects to the monitor of a guest.
func (w *world) ask(o *object) (h qemuHas, err error) {
	ctx, cancel := emutest.Context(context.Background())
	defer cancel()
	m, err := qmp.Dial(ctx, w.k, filepath.Join(w.Paths().Guest(o.uuid.String()), "qmp.sock"))
	if err != nil {
		return h, err
	}
	defer m.Close()
	type named struct {
		Name  string `json:"name"`
		Node  string `json:"node-name"`
		Label string `json:"label"`
		Set   int    `json:"fdset-id"`
		QDev  string `json:"qdev"`
		In    *struct {
			Node string `json:"node-name"`
		} `json:"inserted"`
	}
	var devices, objects, nodes, chardevs, sets, drives []named
	err = m.ExecuteBatch(ctx, []qmp.Command{
		{Name: "qom-list", Args: map[string]string{"path": "/machine/peripheral"}, Reply: &devices},
		{Name: "qom-list", Args: map[string]string{"path": "/objects"}, Reply: &objects},
		{Name: "query-named-block-nodes", Args: map[string]bool{"flat": true}, Reply: &nodes},
		{Name: "query-chardev", Reply: &chardevs},
		{Name: "query-fdsets", Reply: &sets},
		{Name: "query-block", Reply: &drives},
	})
	list := func(in []named, get func(named) string) (out []string) {
		for _, n := range in {
			if s := get(n); s != "" && s != "type" {
				out = append(out, s)
			}
		}
		slices.Sort(out)
		return out
	}
	name := func(n named) string { return n.Name }
	h = qemuHas{
		devices: list(devices, name), objects: list(objects, name),
		nodes: list(nodes, func(n named) string { return n.Node }), chardevs: list(chardevs, func(n named) string { return n.Label }),
		sets: list(sets, func(n named) string { return strconv.Itoa(n.Set) }),
		media: list(drives, func(n named) string {
			if n.In == nil {
				return ""
			}
			return strings.Split(strings.TrimPrefix(n.QDev, "/machine/peripheral/"), "/")[0] + " " + n.In.Node
		}),
	}
	return h, err
}

// shows is what a live document says that QEMU has. Devices that are on board have no name in QEMU, and what it makes by
// itself none in the document.
func shows(doc *spec.Domain) qemuHas {
	h := qemuHas{chardevs: []string{"qmp"}}
	for _, v := range doc.Devices.List() {
		name := v.Alias()
		switch d := v.Value.(type) {
		case *spec.Controller:
			if d.Index == "0" && (d.Type == "pci" || d.Type == "ide" || d.Type == "sata" && strings.Contains(doc.OS.Type.Machine, "q35")) || d.Type == "usb" && d.Model == "none" {
				continue
			}
		case *spec.Disk:
			if d.Source != nil && d.Source.File != "" {
				h.nodes = append(h.nodes, d.Target.Dev+"-storage", d.Target.Dev+"-format")
				h.media = append(h.media, name+" "+d.Target.Dev+"-format")
			}
		case *spec.RNG:
			h.objects = append(h.objects, "obj"+name)
		case *spec.Chardev:
			if v.Kind == "console" {
				continue
			}
			h.chardevs = append(h.chardevs, "char"+name)
		case *spec.Input:
			if d.Bus == "ps2" {
				continue
			}
		case *spec.Panic, *spec.Audio, *spec.Graphics:
			continue
		case *spec.MemBalloon:
			if d.Model == "none" {
				continue
			}
		}
		h.devices = append(h.devices, name)
	}
	for _, l := range []*[]string{&h.devices, &h.objects, &h.nodes, &h.chardevs, &h.media} {
		slices.Sort(*l)
	}
	return h
}

// document is a domain's document.
func document(c *client.Client, o *object, flags uint32) (*spec.Domain, error) {
	ctx, cancel := emutest.Context(context.Background())
	defer cancel()
	xml, err := c.DomainXML(ctx, o.domain(), flags)
	if err != nil {
		return nil, broken(err)
	}
	return spec.ParseDomain([]byte(xml))
}

// holds compares a guest's live document with what its QEMU has, and with what the daemon has for it on the host. No daemon
// runs, or QEMU would talk to it and not to us.
func (w *world) holds(o *object, doc *spec.Domain) error {
	has, err := w.ask(o)
	if err != nil {
		return fmt.Errorf("%s: %w", o.name, err)
	}
	want := shows(doc)
	var wrong []string
	for _, part := range []struct {
		what       string
		have, want []string
	}{
		{"device", has.devices, want.devices},
		{"object", unmake(has.objects), want.objects},
		{"block node", has.nodes, want.nodes},
		{"medium", has.media, want.media},
		{"character device", has.chardevs, want.chardevs},
	} {
		wrong = append(wrong, compare(part.what+" of "+o.name, part.have, part.want)...)
	}
	if len(has.sets) != len(want.nodes)/2 {
		wrong = append(wrong, fmt.Sprintf("%d sets of descriptors, and %d images are open: %v", len(has.sets), len(want.nodes)/2, has.sets))
	}
	wrong = append(wrong, w.openFiles(o, doc)...)
	wrong = append(wrong, w.sockets(o, doc)...)
	if len(wrong) > 0 {
		return fmt.Errorf("its QEMU and its document differ:\n  %s\n%s", strings.Join(wrong, "\n  "), doc.Format())
	}
	return nil
}

// unmake takes out the objects that QEMU makes by itself: the guest's memory.
func unmake(objects []string) []string {
	return slices.DeleteFunc(objects, func(s string) bool { return strings.Contains(s, "ram") })
}

// openFiles compares the images that QEMU has open with those of the document.
func (w *world) openFiles(o *object, doc *spec.Domain) []string {
	pid, err := w.qemuOf(o)
	if err != nil {
		return []string{err.Error()}
	}
	var have, want []string
	dir := fmt.Sprintf("/proc/%d/fd", pid)
	for _, fd := range names(dir) {
		if to, err := os.Readlink(filepath.Join(dir, fd)); err == nil && filepath.Dir(to) == w.Root && !slices.Contains(have, to) {
			have = append(have, to)
		}
	}
	for _, k := range doc.Devices.Disks {
		if k.Source != nil && k.Source.File != "" {
			want = append(want, k.Source.File)
		}
	}
	return compare("image that QEMU has open", have, want)
}

// sockets compares the sockets of channels with those of the document.
func (w *world) sockets(o *object, doc *spec.Domain) []string {
	var want []string
	for _, c := range doc.Devices.Channels {
		if c.Type == "unix" && c.Source != nil {
			want = append(want, filepath.Base(c.Source.Path))
		}
	}
	return compare("socket of a channel", names(filepath.Join(w.Paths().Guest(o.uuid.String()), "channel")), want)
}
