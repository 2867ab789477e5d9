package spec

import (
	"bytes"
)

// ParseDevice reads one device element, such as <disk> or <interface>.
func ParseDevice(doc []byte) (*Devices, error) {
	doc, err := oneElement(doc)
	if err != nil {
		return nil, err
	}
	var whole bytes.Buffer
	whole.WriteString("<domain type='qemu'><name>device</name><devices>")
	whole.Write(doc)
	whole.WriteString("</devices></domain>")
	d, err := ParseDomain(whole.Bytes())
	if err != nil {
		return nil, err
	}
	return d.Devices, nil
}

// oneElement refuses what is not a single element: it must not end <devices> and go on. It returns the element without
// the declaration that files begin with.
func oneElement(doc []byte) ([]byte, error) {
	s, err := newScanner(doc)
	if err != nil {
		return nil, err
	}
	t, err := (&decoder{scanner: s}).first()
	if err != nil {
		return nil, err
	}
	start := t.at
	for t.kind != tokenEOF {
		if t, err = s.next(); err != nil {
			return nil, err
		}
	}
	return []byte(s.src[start:]), nil
}

// Append adds the devices of other behind those that are there. An emulator and a memory balloon replace.
func (d *Devices) Append(other *Devices) {
	if other.Emulator != "" {
		d.Emulator = other.Emulator
	}
	if other.MemBalloon != nil {
		d.MemBalloon = other.MemBalloon
	}
	d.Disks = append(d.Disks, other.Disks...)
	d.Controllers = append(d.Controllers, other.Controllers...)
	d.Interfaces = append(d.Interfaces, other.Interfaces...)
	d.Serials = append(d.Serials, other.Serials...)
	d.Consoles = append(d.Consoles, other.Consoles...)
	d.Channels = append(d.Channels, other.Channels...)
	d.Inputs = append(d.Inputs, other.Inputs...)
	d.TPMs = append(d.TPMs, other.TPMs...)
	d.Graphics = append(d.Graphics, other.Graphics...)
	d.Audios = append(d.Audios, other.Audios...)
	d.Videos = append(d.Videos, other.Videos...)
	d.Watchdogs = append(d.Watchdogs, other.Watchdogs...)
	d.RNGs = append(d.RNGs, other.RNGs...)
	d.Panics = append(d.Panics, other.Panics...)
	d.Memories = append(d.Memories, other.Memories...)
	d.Elements = append(d.Elements, other.Elements...)
}
