package spec

import (
	"net/netip"
	"strings"
)

// Chardev is a serial or parallel port, a console or a channel.
type Chardev struct {
	Type     string         `xml:"type,attr"` // pty, unix, file, null, vc, dev, tcp, spicevmc, spiceport, qemu-vdagent
	TTY      string         `xml:"tty,attr,omitempty"`
	Source   *ChardevSource `xml:"source"`
	Protocol *Element       `xml:"protocol"`
	Log      *Element       `xml:"log"`
	Target   *ChardevTarget `xml:"target"`
	Alias    *Alias         `xml:"alias"`
	Address  *Address       `xml:"address"`
	Extra
}

// ChardevSource is the host side: a path, a socket in bind or connect mode, or the name of a SPICE port.
type ChardevSource struct {
	Mode      string   `xml:"mode,attr,omitempty"`
	Path      string   `xml:"path,attr,omitempty"`
	Host      string   `xml:"host,attr,omitempty"`    // of tcp: an address
	Service   string   `xml:"service,attr,omitempty"` // of tcp: a port
	Channel   string   `xml:"channel,attr,omitempty"` // of spiceport
	Append    string   `xml:"append,attr,omitempty"`
	Clipboard *Element `xml:"clipboard"` // of qemu-vdagent
	Mouse     *Element `xml:"mouse"`     // of qemu-vdagent
	Extra
}

// ChardevTarget is the guest side.
type ChardevTarget struct {
	Type  string        `xml:"type,attr,omitempty"` // isa-serial, pci-serial, usb-serial, serial, virtio
	Name  string        `xml:"name,attr,omitempty"` // of a virtio channel
	Port  string        `xml:"port,attr,omitempty"`
	State string        `xml:"state,attr,omitempty"`
	Model *ChardevModel `xml:"model"`
	Extra
}

// ChardevModel is <model name='isa-serial'/>.
type ChardevModel struct {
	Name string `xml:"name,attr"`
	Extra
}

// chardevTypes are the host sides that are implemented and those that are not.
const (
	chardevTypes  = "pty unix file null vc dev tcp spiceport"
	chardevOthers = "pipe stdio udp nmdm dbus"
)

func chardevRules() map[string]rule {
	m := map[string]rule{
		"devices/serial/target/@type": values("isa-serial pci-serial usb-serial", "spapr-vio-serial system-serial sclp-serial isa-debug"),
		"devices/serial/target/model/@name": values("isa-serial pci-serial usb-serial", "spapr-vty pl011 16550a "+
			"sclpconsole sclplmconsole isa-debugcon"),
		"devices/serial/address/@iobase": refuse("a serial port's place is given by its number"),
		"devices/serial/address/@irq":    refuse("a serial port's place is given by its number"),
		"devices/console/target/@type":   values("serial virtio", "xen uml lxc openvz sclp sclplm"),
		"devices/channel/target/@type":   values("virtio", "guestfwd xen"),
		"devices/channel/target/@state":  values("connected disconnected", ""),
	}
	for _, kind := range []string{"serial", "parallel", "console", "channel", "redirdev"} {
		at := "devices/" + kind + "/"
		m[at+"log/@file"] = pattern(`/[^\x00]*`, "an absolute path")
		m[at+"log/@append"] = onOff()
		m[at+"protocol/@type"] = values("raw telnet", "telnets tls")
		m[at+"source/@mode"] = values("bind connect", "client")
		m[at+"source/@append"] = onOff()
		m[at+"source/@path"] = pattern(`/[^\x00]*`, "an absolute path")
		m[at+"source/@channel"] = pattern(`[A-Za-z0-9_.-]{1,255}`, "the name of a port")
		m[at+"source/@service"] = number(1, 65535)
		m[at+"source/@tls"] = just("no", "connections of consoles are not encrypted")
		m[at+"source/clipboard/@copypaste"] = yesNo()
		m[at+"source/mouse/@mode"] = values("server client", "")
		m[at+"source/reconnect"] = refuse("a connection that ends is not made again")
		m[at+"source/seclabel"] = refuse("labels are not chosen by documents")
		m[at+"@type"] = values(chardevTypes, chardevOthers+" spicevmc qemu-vdagent")
	}
	for _, kind := range []string{"serial", "parallel", "console", "channel"} {
		m["devices/"+kind+"/target/@port"] = number(0, 1<<31-1)
	}
	m["devices/channel/@type"] = values(chardevTypes+" spicevmc qemu-vdagent", chardevOthers)
	for _, name := range []string{"source", "protocol"} {
		m["devices/smartcard/"+name] = refuse("cards come over SPICE alone")
	}
	m["devices/smartcard/log/@file"] = pattern(`/[^\x00]*`, "an absolute path")
	m["devices/smartcard/log/@append"] = onOff()
	m["devices/smartcard/@type"] = values("spicevmc", chardevTypes+" "+chardevOthers)
	m["devices/redirdev/@type"] = values("spicevmc tcp", "pty unix file null vc dev spiceport "+chardevOthers)
	return m
}

// check holds what goes together on the host side of kind n.
func (c *Chardev) check(kind string, n int) error {
	return checkHostSide(kind, n, c.Type, c.Source, c.Protocol)
}

func checkHostSide(kind string, n int, is string, src *ChardevSource, protocol *Element) error {
	at := "devices/" + kind + "/source"
	if src == nil {
		src = &ChardevSource{}
	}
	switch {
	case (is == "file" || is == "dev") && src.Path == "":
		return invalid(at+"/@path", "it is missing (%s %d)", kind, n)
	case is == "spiceport" && src.Channel == "":
		return invalid(at+"/@channel", "it is missing (%s %d)", kind, n)
	case is == "tcp" && src.Service == "":
		return invalid(at+"/@service", "it is missing (%s %d)", kind, n)
	case is == "tcp" && src.Mode == "connect" && src.Host == "":
		return invalid(at+"/@host", "it is missing (%s %d)", kind, n)
	case is != "tcp" && (src.Host != "" || src.Service != ""):
		return invalid(at+"/@host", "it is for type tcp (%s %d)", kind, n)
	case is != "tcp" && protocol != nil:
		return invalid("devices/"+kind+"/protocol", "it is for type tcp (%s %d)", kind, n)
	case is != "qemu-vdagent" && (src.Clipboard != nil || src.Mouse != nil):
		return invalid(at, "clipboard and mouse are for type qemu-vdagent (%s %d)", kind, n)
	case src.Path != "" && !strings.HasPrefix(src.Path, "/"):
		return invalid(at+"/@path", "%q is not an absolute path", src.Path)
	}
	if is == "tcp" && src.Host != "" {
		if _, err := netip.ParseAddr(src.Host); err != nil {
			return unsupported(at+"/@host", "%q is no address, and QEMU does not look up names (%s %d)", src.Host, kind, n)
		}
	}
	return nil
}

func (d *Devices) checkChardevs() error {
	for _, k := range []struct {
		kind string
		devs []Chardev
	}{{"serial", d.Serials}, {"parallel", d.Parallels}, {"console", d.Consoles}, {"channel", d.Channels}} {
		for i := range k.devs {
			if err := k.devs[i].check(k.kind, i+1); err != nil {
				return err
			}
			if k.kind == "channel" && k.devs[i].Target == nil {
				return invalid("devices/channel/target", "it is missing (channel %d)", i+1)
			}
		}
	}
	names := make(map[string]bool)
	for i := range d.Channels {
		name := d.Channels[i].Target.Name
		if name != "" && names[name] {
			return invalid("devices/channel/target/@name", "%q is used by two channels", name)
		}
		names[name] = true
	}
	return d.checkUSB()
}
