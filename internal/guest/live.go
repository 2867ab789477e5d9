package guest

import (
	"slices"
	"strconv"

	"taproom/internal/spec"
)

// LiveFacts is what is known of a guest only once it runs.
type LiveFacts struct {
	ID   int32
	PTYs map[string]string // terminal by the label of its character device (charserial0)
	// Bridges and PortIDs are by NIC: the bridge a NIC of type network ended up on, and its port's UUID.
	Bridges, PortIDs []string
	// Directs are by NIC, too: where one of type network lies that its network put on a link of the host.
	Directs []LiveDirect
	// Shares are by NIC: what it has on its network, where that is more than the document says.
	Shares []*spec.NICShare
	// Connected says which channels the guest has open, by alias.
	Connected map[string]bool
	// Label is what QEMU runs as, "+uid:+gid"; empty leaves it out.
	Label string
}

// LiveDirect is a macvtap's place: the host's link, and the mode. The zero value is none.
type LiveDirect struct{ Dev, Mode string }

// withoutSecrets takes passwords out of a document. They are shown only to clients that may write and that asked for
// them (VIR_DOMAIN_XML_SECURE).
func withoutSecrets(d *spec.Domain) {
	if d.Devices == nil {
		return
	}
	for i := range d.Devices.Graphics {
		g := &d.Devices.Graphics[i]
		g.Passwd, g.PasswdValidTo, g.Connected = "", "", ""
	}
}

// Inactive is the completed document as dumpxml shows it for the next start. The document itself is not changed.
func Inactive(d *spec.Domain, secure bool) *spec.Domain {
	out := shown(d, secure)
	if fam, err := familyOf(out.OS.Type.Machine); err == nil && out.Devices != nil {
		dropAliases(out, fam)
	}
	return out
}

func shown(d *spec.Domain, secure bool) *spec.Domain {
	out := d.Clone()
	if !secure {
		withoutSecrets(out)
	}
	return out
}

// Live is the document of a running guest: with aliases, host-side names, terminals and ports. d is the completed
// document it was started from; it is not changed.
func Live(d *spec.Domain, rt Runtime, f LiveFacts, secure bool) *spec.Domain {
	out := shown(d, secure)
	if out.Devices == nil {
		return out
	}
	if fam, err := familyOf(out.OS.Type.Machine); err == nil {
		setAliases(out, fam)
	}
	out.ID = strconv.Itoa(int(f.ID))
	AdjustClock(out, rt.Adjustment)
	liveDisks(out.Devices)
	liveNICs(out.Devices, rt, f)
	liveChardevs(out.Devices, rt, f)
	liveVsock(out.Devices.Vsock, rt)
	for i := range out.Devices.Graphics {
		liveGraphics(&out.Devices.Graphics[i], rt, i)
	}
	for i := range out.Devices.Panics { // has no alias in libvirt's documents either
		if a := &out.Devices.Panics[i].Alias; !userAlias(*a) {
			*a = nil
		}
	}
	if f.Label != "" {
		var l spec.SecLabel
		l.Type, l.Model, l.Relabel = "dynamic", "dac", "yes"
		for _, name := range []string{"label", "imagelabel"} {
			e := spec.Element{Inner: f.Label}
			e.XMLName.Local = name
			l.Elements = append(l.Elements, e)
		}
		out.SecLabels = append(out.SecLabels, l)
	}
	return out
}

// liveDisks numbers images. libvirt counts from the last disk to the first, and within a disk from the top down.
func liveDisks(v *spec.Devices) {
	n := 0
	next := func() string { n++; return strconv.Itoa(n) }
	for _, k := range slices.Backward(pointers(v.Disks)) {
		top := next()
		if !hasMedium(k) {
			k.Driver.Type = ""
			continue
		}
		k.Source.Index = top
		if k.BackingStore == nil {
			k.BackingStore = &spec.BackingStore{}
		}
		for b := k.BackingStore; b != nil && b.Type != ""; b = b.BackingStore {
			b.Index = next()
			if b.BackingStore == nil {
				b.BackingStore = &spec.BackingStore{}
			}
		}
	}
}

func pointers[T any](s []T) []*T {
	out := make([]*T, len(s))
	for i := range s {
		out[i] = &s[i]
	}
	return out
}

func liveNICs(v *spec.Devices, rt Runtime, f LiveFacts) {
	at := func(list []string, i int) string {
		if i < len(list) {
			return list[i]
		}
		return ""
	}
	for i := range v.Interfaces {
		n := &v.Interfaces[i]
		if i < len(rt.NICs) && rt.NICs[i].Tap != "" && !n.GivenTap() {
			n.Target = &spec.InterfaceTarget{Dev: rt.NICs[i].Tap}
		}
		if i < len(f.Shares) && f.Shares[i] != nil {
			*n = n.With(*f.Shares[i])
		}
		if n.Type == "network" && n.Source != nil {
			n.Source.PortID, n.Source.Bridge = at(f.PortIDs, i), def(at(f.Bridges, i), n.Source.Bridge)
			if i < len(f.Directs) && f.Directs[i].Dev != "" { // libvirt shows what it is by now
				n.Type, n.Source.Dev, n.Source.Mode = "direct", f.Directs[i].Dev, f.Directs[i].Mode
			}
		}
	}
}

func liveChardevs(v *spec.Devices, rt Runtime, f LiveFacts) {
	for _, c := range slices.Concat(pointers(v.Serials), pointers(v.Parallels), pointers(v.Consoles), pointers(v.Channels)) {
		if c.Type == "pty" && c.Alias != nil {
			if tty := f.PTYs["char"+c.Alias.Name]; tty != "" {
				c.Source = &spec.ChardevSource{Path: tty}
			}
		}
	}
	if len(v.Consoles) > 0 && v.Consoles[0].Type == "pty" && v.Consoles[0].Source != nil {
		v.Consoles[0].TTY = v.Consoles[0].Source.Path
	}
	for i := range v.Channels {
		c := &v.Channels[i]
		if c.Type == "unix" && chardevPath(c) == "" {
			c.Source = &spec.ChardevSource{Mode: "bind", Path: ChannelPath(rt.Dir, c)}
		}
		c.Target.State = map[bool]string{true: "connected", false: "disconnected"}[f.Connected[c.Alias.Name]]
	}
}

func liveGraphics(g *spec.Graphics, rt Runtime, i int) {
	if len(g.Listens) == 0 {
		return
	}
	l, d := &g.Listens[0], rt.display(i)
	switch l.Type {
	case "socket":
		l.Socket = DisplaySocket(rt.Dir, g.Type)
		if g.Type == "vnc" {
			g.Socket = l.Socket
		}
		return
	case "address", "network":
	default:
		return
	}
	if g.AutoPort == "yes" && d.Port > 0 {
		g.Port = strconv.Itoa(d.Port)
	}
	if g.WebSocket == "-1" && d.WebSocket > 0 {
		g.WebSocket = strconv.Itoa(d.WebSocket)
	}
	g.Listen = displayAddress(g, d)
	l.Address = g.Listen
}

// AdjustClock has a document say how far from UTC its guest has set its clock, where that is the guest's to say; "" changes
// nothing.
func AdjustClock(d *spec.Domain, adjustment string) {
	if k := d.Clock; k != nil && k.Offset == "variable" && adjustment != "" {
		k.Adjustment = adjustment
	}
}
