package guest

import (
	"net"
	"strconv"
	"strings"

	"taproom/internal/qemu"
	"taproom/internal/spec"
)

// networkDisk fills in what the document leaves open of a disk that a server has: the port, as libvirt does.
func networkDisk(k *spec.Disk) {
	if k.Type != "network" || k.Source == nil {
		return
	}
	for i := range k.Source.Hosts {
		h := &k.Source.Hosts[i]
		if h.Transport != "unix" && h.Port == "" {
			h.Port = map[string]string{"nbd": "10809", "http": "80", "https": "443"}[k.Source.Protocol]
		}
	}
}

// storageOnNetwork is the node that reads and writes what a server has. QEMU may connect to its port and to no other;
// a socket of this host is connected to by the daemon, for the guest's user has no right to it.
func (c *compiler) storageOnNetwork(k *spec.Disk, l image, name string, cache qemu.Props) error {
	s := l.source
	if len(s.Hosts) != 1 {
		return invalid("disk/source", "%s: one host is needed, not %d", diskName(k), len(s.Hosts))
	}
	h := s.Hosts[0]
	var p qemu.Props
	switch s.Protocol {
	case "nbd":
		p = qemu.Props{{Key: "driver", Value: "nbd"}}
		if h.Transport == "unix" {
			file := "nbd-" + name
			c.need(Need{Name: file, Path: h.Socket, Access: Dial, Device: diskName(k)})
			p = p.With("server", qemu.Props{{Key: "type", Value: "fd"}, {Key: "str", Value: qemu.FD(file)}})
		} else {
			p = p.With("server", qemu.Props{{Key: "type", Value: "inet"}, {Key: "host", Value: strings.Trim(h.Name, "[]")}, {Key: "port", Value: h.Port}})
		}
		if s.Name != "" {
			p = p.With("export", s.Name)
		}
	case "http", "https":
		p = qemu.Props{{Key: "driver", Value: s.Protocol}, {Key: "url", Value: address(s)}}
		if s.SSL != nil && s.SSL.Verify == "no" {
			p = p.With("sslverify", false)
		}
		for _, f := range []struct{ name, value string }{{"timeout", seconds(s.Timeout)}, {"readahead", size(s.Readahead)}} {
			if n, err := strconv.Atoi(f.value); err == nil {
				p = p.With(f.name, n)
			}
		}
	default:
		return unsupported("disk/source", "%s: protocol=%q is not implemented; use nbd, http or https", diskName(k), s.Protocol)
	}
	if h.Transport != "unix" {
		port, err := strconv.ParseUint(h.Port, 10, 16)
		if err != nil {
			return invalid("disk/source/host", "%s: port=%q is no port", diskName(k), h.Port)
		}
		c.cfg.ConnectTCP = append(c.cfg.ConnectTCP, uint16(port))
		c.cfg.Resolves = true
	}
	p = append(p.With("node-name", name+"-storage"), cache...)
	c.cfg.Blockdevs = append(c.cfg.Blockdevs, p.With("read-only", l.readOnly).With("auto-read-only", false).With("discard", "unmap"))
	return nil
}

// address is the URL of a disk on a web server.
func address(s *spec.DiskSource) string {
	h := s.Hosts[0]
	u := s.Protocol + "://" + net.JoinHostPort(strings.Trim(h.Name, "[]"), h.Port) + "/" + strings.TrimPrefix(s.Name, "/")
	if s.Query != "" {
		u += "?" + s.Query
	}
	return u
}

func seconds(t *spec.SourceTimeout) string {
	if t == nil {
		return ""
	}
	return t.Seconds
}

func size(r *spec.Readahead) string {
	if r == nil {
		return ""
	}
	return r.Size
}

// diskShape is what the guest is told of the disk's make: block sizes, geometry, how fast it turns.
func diskShape(p qemu.Props, k *spec.Disk) qemu.Props {
	add := func(name, value string) {
		if n, err := strconv.ParseUint(value, 10, 32); err == nil {
			p = p.With(name, n)
		}
	}
	if b := k.BlockIO; b != nil {
		add("logical_block_size", b.Logical)
		add("physical_block_size", b.Physical)
		add("discard_granularity", b.Granularity)
	}
	add("rotation_rate", k.Target.RotationRate)
	if g := k.Geometry; g != nil {
		add("cyls", g.Cylinders)
		add("heads", g.Heads)
		add("secs", g.Sectors)
		if g.Trans != "" {
			p = p.With("bios-chs-trans", g.Trans)
		}
	}
	return p
}
