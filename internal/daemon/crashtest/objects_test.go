package crashtest

import (
	"fmt"
	"strings"

	"taproom/internal/api/remote"
	"taproom/internal/spec"
)

// truth is what a client may believe of something, after what it was answered and what it has asked for since.
type truth int8

const (
	no    truth = iota
	maybe       // it was asked for, or asked to end, and nobody answered
	yes
)

// String says it in a word.
func (t truth) String() string { return [...]string{"no", "maybe", "yes"}[t] }

func truthOf(b bool) truth {
	if b {
		return yes
	}
	return no
}

// belief is what a client knows of a domain or network.
type belief struct {
	defined, active truth
	paused          truth // of domains; no when not active
	host, hostLive  truth // of networks: the additional DHCP host is in the definition, and in what is active
}

// String says it in words.
func (b belief) String() string {
	return fmt.Sprintf("defined %v, active %v, paused %v, host %v, live %v", b.defined, b.active, b.paused, b.host, b.hostLive)
}

// between is what is known while a request that leads from a to b is under way.
func between(a, b belief) belief {
	pick := func(a, b truth) truth {
		if a == b {
			return a
		}
		return maybe
	}
	return belief{pick(a.defined, b.defined), pick(a.active, b.active), pick(a.paused, b.paused), pick(a.host, b.host), pick(a.hostLive, b.hostLive)}
}

// allows reports whether what is seen can be, by what is believed.
func (b belief) allows(seen belief) bool {
	fits := func(b, seen truth) bool { return b == maybe || b == seen }
	return fits(b.defined, seen.defined) && fits(b.active, seen.active) &&
		(seen.defined == no || fits(b.host, seen.host)) &&
		(seen.active == no || fits(b.paused, seen.paused) && fits(b.hostLive, seen.hostLive))
}

// object is one domain or network of a test, and what its client knows of it.
type object struct {
	belief
	kind string // network or domain
	name string
	uuid spec.UUID
	xml  string
	pid  int // of a domain's QEMU, if it is active and its start was answered; else 0

	beside   int    // how many processes serve the devices of a domain beside its QEMU
	terminal string // of a guest that boot has booted
}

func (o *object) domain() remote.Domain   { return remote.Domain{Name: o.name, UUID: o.uuid, ID: -1} }
func (o *object) network() remote.Network { return remote.Network{Name: o.name, UUID: o.uuid} }

// bridge is the link of a network.
func (o *object) bridge() string { return "br-" + o.name }

func mustUUID(s string) spec.UUID {
	u, err := spec.ParseUUID(s)
	if err != nil {
		panic(err)
	}
	return u
}

// newNetwork returns the n-th network: NAT, a subnet of its own, DHCP.
func newNetwork(n int) *object {
	o := &object{kind: "network", name: fmt.Sprintf("net%d", n), uuid: mustUUID(fmt.Sprintf("6f0c2a52-8d1e-4f57-9a3b-1c5a7e0d15%02d", n))}
	o.xml = fmt.Sprintf(`<network>
  <name>%s</name>
  <uuid>%s</uuid>
  <forward mode='nat'/>
  <bridge name='%s' stp='on' delay='0'/>
  <mac address='52:54:00:97:ff:%02d'/>
  <ip address='10.77.%d.1' netmask='255.255.255.0'>
    <dhcp>
      <range start='10.77.%d.2' end='10.77.%d.200'/>
    </dhcp>
  </ip>
</network>`, o.name, o.uuid, o.bridge(), n, n, n, n)
	return o
}

// hostLine is what an edit of a network adds to it.
const hostLine = "<host mac='52:54:00:97:aa:aa' name='printer' ip='10.77.1.250'/>"

// withHost is a network's document with another DHCP host.
func (o *object) withHost() string {
	return strings.Replace(o.xml, "</dhcp>", hostLine+"</dhcp>", 1)
}

// newDomain returns the n-th guest: small, on a network or none, with a disk. Without a kernel it starts fast; its firmware
// finds nothing to boot, or what the test wrote to the disk. More are elements: policies first, devices then.
func newDomain(n int, network *object, disk string, more ...string) *object {
	more = append(more, "", "")
	o := &object{kind: "domain", name: fmt.Sprintf("guest%d", n), uuid: mustUUID(fmt.Sprintf("b1d5f7a4-3c60-4c1e-8f0e-5a2d9c7b15%02d", n))}
	nic := ""
	if network != nil {
		nic = fmt.Sprintf(`<interface type='network'>
      <mac address='52:54:00:97:00:%02d'/>
      <source network='%s'/>
      <model type='virtio'/>
    </interface>`, n, network.name)
	}
	o.xml = fmt.Sprintf(`<domain type='qemu'>
  <name>%s</name>
  <uuid>%s</uuid>
  <memory unit='MiB'>16</memory>
  <vcpu>1</vcpu>
  <os><type arch='x86_64' machine='pc'>hvm</type></os>
  <features><acpi/></features>
  %s
  <devices>
    <controller type='usb' model='none'/>
    <disk type='file' device='disk'>
      <driver name='qemu' type='raw'/>
      <source file='%s'/>
      <target dev='hda' bus='ide'/>
    </disk>
    %s
    <serial type='pty'><target port='0'/></serial>
    <memballoon model='none'/>
    %s
  </devices>
</domain>`, o.name, o.uuid, more[0], disk, nic, more[1])
	return o
}
