package badinput

import (
	"strings"
	"testing"

	"taproom/internal/api/remote"
	"taproom/internal/api/virterr"
)

// bomb is a document whose entities would grow to gigabytes.
func bomb(root string) string {
	var b strings.Builder
	b.WriteString("<?xml version='1.0'?>\n<!DOCTYPE " + root + " [<!ENTITY a 'aaaaaaaaaa'>")
	for c := 'b'; c <= 'k'; c++ {
		b.WriteString("<!ENTITY " + string(c) + " '" + strings.Repeat("&"+string(c-1)+";", 10) + "'>")
	}
	b.WriteString("]><" + root + "><name>&k;</name></" + root + ">")
	return b.String()
}

func TestDomainDocuments(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	whole := guest("broken", "")
	edit := func(from, to string) func() error {
		if !strings.Contains(whole, from) {
			t.Fatalf("%q is not in the document", from)
		}
		return func() error { return w.define(strings.Replace(whole, from, to, 1)) }
	}
	document := func(doc string) func() error { return func() error { return w.define(doc) } }
	uuid := uuidText(w.uuid("well"))
	w.refuse(t, []bad{
		{"empty", document(""), virterr.XMLDetail, "XML error: line 1: document is empty"},
		{"no XML", document("name: broken\nmemory: 16\n"), virterr.XMLDetail, "XML error: line 1: text outside the root element"},
		{"truncated", document(whole[:len(whole)/2]), virterr.XMLDetail, "XML error: line 6: document ends inside a tag"},
		{"truncated in a tag", document(whole[:strings.Index(whole, "<vcpu")+3]), virterr.XMLDetail, "XML error: line 4: document ends inside a tag"},
		{"wrong end", edit("</vcpu>", "</memory>"), virterr.XMLDetail, "XML error: line 4: <vcpu> is closed by </memory>"},
		{"two roots", document(whole + whole), virterr.XMLDetail, "XML error: line 12: content after the end of the document"},
		{"attribute twice", edit("<domain type='qemu'", "<domain type='qemu' type='kvm'"), virterr.XMLDetail, "XML error: line 1: attribute type is given twice"},
		{"not UTF-8", edit("broken", "br\xffken"), virterr.XMLDetail, "XML error: line 2: document is not valid UTF-8"},
		{"binary", document("\x7fELF\x02\x01\x01\x00\x00\x00"), virterr.XMLDetail, "XML error: line 1: character U+0002 is not allowed in XML"},
		{"entity bomb", document(bomb("domain")), virterr.XMLDetail, "XML error: line 2: document type declarations and entities are not accepted"},
		{"external entity", document("<!DOCTYPE domain [<!ENTITY x SYSTEM 'file:///etc/shadow'>]><domain type='qemu'><name>&x;</name></domain>"), virterr.XMLDetail, "XML error: line 1: document type declarations and entities are not accepted"},
		{"unknown entity", edit("broken", "&who;"), virterr.XMLDetail, "XML error: line 2: entity &who; is not known; entities cannot be declared"},
		{"deep", document(strings.Repeat("<domain>", 100_000)), virterr.XMLDetail, "XML error: line 1: elements are nested more than 64 deep"},
		{"long", edit("<memory", "<description>"+strings.Repeat("x", 3<<20)+"</description><memory"), virterr.XMLError, "XML error: domain 'broken': the document has 3146068 bytes; at most 2 MiB can be shown to clients again"},
		{"a network", document(network("broken", "virbr-x", "10.1.2")), virterr.XMLDetail, "XML error: line 1: root element is <network>, want <domain>"},
		{"unknown type", edit("type='qemu'", "type='xen'"), virterr.ConfigUnsupported, "unsupported configuration: domain 'broken': @type is not supported: \"xen\" is not implemented; use qemu or kvm"},
		{"no type", edit(" type='qemu'", ""), virterr.XMLError, "XML error: domain 'broken': invalid @type: it is missing; use kvm or qemu"},
		{"no name", edit("<name>broken</name>", ""), virterr.XMLError, "XML error: invalid name: it is missing or empty"},
		{"empty name", edit("broken", ""), virterr.XMLError, "XML error: invalid name: it is missing or empty"},
		{"name with a slash", edit("broken", "../broken"), virterr.XMLError, "XML error: invalid name: name \"../broken\" contains '/'"},
		{"name with NUL", edit("broken", "bro\x00ken"), virterr.XMLDetail, "XML error: line 2: character U+0000 is not allowed in XML"},
		{"name with a NUL reference", edit("broken", "bro&#0;ken"), virterr.XMLDetail, "XML error: line 2: reference &#0; is no character of XML"},
		{"name of two lines", edit("broken", "bro\nken"), virterr.XMLError, "XML error: invalid name: name \"bro\\nken\" contains a control character"},
		{"name is a dot", edit("broken", "."), virterr.XMLError, "XML error: invalid name: name \".\" has a meaning of its own in paths"},
		{"name is two dots", edit("broken", ".."), virterr.XMLError, "XML error: invalid name: name \"..\" has a meaning of its own in paths"},
		{"name too long", edit("broken", strings.Repeat("b", 300)), virterr.XMLError, "XML error: invalid name: name has 300 bytes (limit 255)"},
		{"bad UUID", edit("<memory", "<uuid>1234</uuid><memory"), virterr.XMLDetail, "XML error: line 3: <uuid>: malformed UUID \"1234\": want 32 hexadecimal digits"},
		{"UUID of another", edit("<memory", "<uuid>"+uuid+"</uuid><memory"), virterr.OperationFailed, "operation failed: domain 'well' is already defined with uuid UUID"},
		{"name of another", edit("<name>broken</name>", "<name>well</name><uuid>11111111-2222-3333-4444-555555555555</uuid>"), virterr.OperationFailed, "operation failed: domain 'well' already exists with uuid UUID"},
		{"no memory", edit("<memory unit='MiB'>16</memory>", ""), virterr.XMLError, "XML error: domain 'broken': invalid memory: it is missing or 0"},
		{"memory of zero", edit(">16<", ">0<"), virterr.XMLError, "XML error: domain 'broken': invalid memory: it is missing or 0"},
		{"memory below zero", edit(">16<", ">-16<"), virterr.XMLError, "XML error: domain 'broken': invalid memory: amount of memory: \"-16\" is not a number"},
		{"memory beyond 64 bits", edit(">16<", ">99999999999999999999<"), virterr.XMLError, "XML error: domain 'broken': invalid memory: amount of memory: 99999999999999999999 is too large (limit 18446744073709551615)"},
		{"memory that overflows", edit("unit='MiB'>16<", "unit='EiB'>9999<"), virterr.XMLError, "XML error: domain 'broken': invalid memory: amount of memory 9999 EiB is too large"},
		{"unknown unit", edit("MiB", "bananas"), virterr.XMLError, "XML error: domain 'broken': invalid memory: unit of memory \"bananas\" is not known; use KiB, MiB, GiB…"},
		{"no processors", edit("<vcpu>1", "<vcpu>0"), virterr.XMLError, "XML error: domain 'broken': invalid vcpu: number of virtual CPUs: a guest needs at least one"},
		{"a billion processors", edit("<vcpu>1", "<vcpu>1000000000"), virterr.XMLError, "XML error: domain 'broken': invalid vcpu: number of virtual CPUs: 1000000000 is too large (limit 65535)"},
		{"other processor", edit("x86_64", "m68k"), virterr.ConfigUnsupported, "unsupported configuration: domain 'broken': os/type/@arch is not supported: \"m68k\" is not implemented; use x86_64 or i686"},
		{"unknown machine", edit("machine='pc'", "machine='pdp11'"), virterr.ConfigUnsupported, "unsupported configuration: domain 'broken': os/type is not supported: emulator /usr/bin/qemu-system-x86_64 has no machine \"pdp11\""},
		{"passed-through device", edit("<memballoon", "<hostdev mode='subsystem' type='pci'><source><address domain='0' bus='0' slot='1' function='0'/></source></hostdev><memballoon"), virterr.ConfigUnsupported, "unsupported configuration: domain 'broken': devices/hostdev is not supported: host devices are not passed through yet"},
		{"foreign namespace", edit("<domain type='qemu'>", "<domain type='qemu' xmlns:lxc='http://libvirt.org/schemas/domain/lxc/1.0'><lxc:namespace/>"), virterr.ConfigUnsupported, "unsupported configuration: domain 'broken': lxc:namespace is not supported: of the namespaces that mean something to libvirt only qemu:commandline of a domain and dnsmasq:options of a network are implemented"},
		{"disk without a target", edit("<memballoon", "<disk type='file'><source file='/x'/></disk><memballoon"), virterr.XMLError, "XML error: domain 'broken': invalid devices/disk/target/@dev: it is missing (disk 1)"},
		{"relative disk", edit("<memballoon", disk("images/x", "raw", "")+"<memballoon"), virterr.XMLError, "XML error: domain 'broken': invalid devices/disk/source/@file: \"images/x\" is not an absolute path"},
		{"multicast MAC", edit("<memballoon", "<interface type='user'><mac address='01:00:5e:00:00:01'/></interface><memballoon"), virterr.XMLError, "XML error: domain 'broken': invalid devices/interface/mac/@address: MAC address 01:00:5e:00:00:01 is a multicast address; the first octet must be even"},
		{"address taken twice", edit("<memballoon", strings.Repeat("<rng model='virtio'><backend model='random'>/dev/urandom</backend><address type='pci' domain='0' bus='0' slot='5' function='0'/></rng>", 2)+"<memballoon"), virterr.XMLError, "XML error: domain 'broken': invalid address: PCI address 0000:00:05.0 is used by rng 0 and rng 1"},
	}...)
}

func TestNetworkDocuments(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	whole := network("broken", "virbr-broken", "192.168.92")
	edit := func(from, to string) func() error {
		if !strings.Contains(whole, from) {
			t.Fatalf("%q is not in the document", from)
		}
		return func() error { return w.defineNetwork(strings.Replace(whole, from, to, 1)) }
	}
	document := func(doc string) func() error { return func() error { return w.defineNetwork(doc) } }
	quiet, err := w.c.Network(t.Context(), "quiet")
	must(t, err)
	w.refuse(t, []bad{
		{"truncated", document(whole[:len(whole)/2]), virterr.XMLDetail, "XML error: line 5: the value of attribute address does not end"},
		{"entity bomb", document(bomb("network")), virterr.XMLDetail, "XML error: line 2: document type declarations and entities are not accepted"},
		{"long", edit("<forward", "<title>"+strings.Repeat("x", 3<<20)+"</title><forward"), virterr.XMLError, "XML error: network 'broken': the document has 3145963 bytes; at most 2 MiB can be shown to clients again"},
		{"a domain", document(guest("broken", "")), virterr.XMLDetail, "XML error: line 1: root element is <domain>, want <network>"},
		{"no name", edit("<name>broken</name>", ""), virterr.XMLError, "XML error: invalid name: it is missing or empty"},
		{"name with a slash", edit("broken", "a/b"), virterr.XMLError, "XML error: invalid name: name \"a/b\" contains '/'"},
		{"name with NUL", edit("broken", "a\x00b"), virterr.XMLDetail, "XML error: line 2: character U+0000 is not allowed in XML"},
		{"name of two lines", edit("broken", "a\nb"), virterr.XMLError, "XML error: invalid name: name \"a\\nb\" contains a control character"},
		{"UUID of another", edit("<forward", "<uuid>"+uuidText(quiet.UUID)+"</uuid><forward"), virterr.OperationFailed, "operation failed: network is already defined as 'quiet' with uuid UUID"},
		{"name of another", edit("<name>broken</name>", "<name>quiet</name><uuid>11111111-2222-3333-4444-555555555555</uuid>"), virterr.OperationFailed, "operation failed: network 'quiet' already exists with uuid UUID"},
		{"bridge of another", edit("virbr-broken", "virbr-quiet"), virterr.InternalError, "internal error: bridge name 'virbr-quiet' already in use by network 'quiet'"},
		{"bridge name too long", edit("virbr-broken", "virbr-longer-than-15"), virterr.XMLError, "XML error: network 'broken': invalid bridge/@name: \"virbr-longer-than-15\" is no name of a link (1 to 15 characters, no '/', no white space)"},
		{"bridge name with a slash", edit("virbr-broken", "virbr/0"), virterr.XMLError, "XML error: network 'broken': invalid bridge/@name: \"virbr/0\" is no name of a link (1 to 15 characters, no '/', no white space)"},
		{"bad address", edit("192.168.92.1", "192.168.300.1"), virterr.XMLError, "XML error: network 'broken': invalid ip: malformed address \"192.168.300.1\""},
		{"address of the network", edit("192.168.92.1", "192.168.92.0"), virterr.XMLError, "XML error: network 'broken': invalid ip: 192.168.92.0/24 is the address of the subnet itself"},
		{"broadcast address", edit("192.168.92.1", "192.168.92.255"), virterr.XMLError, "XML error: network 'broken': invalid ip: 192.168.92.255/24 is the broadcast address of the subnet"},
		{"bad mask", edit("255.255.255.0", "255.0.255.0"), virterr.XMLError, "XML error: network 'broken': invalid ip: netmask 255.0.255.0 has a hole"},
		{"range outside", edit("192.168.92.254", "192.168.93.254"), virterr.XMLError, "XML error: network 'broken': invalid ip/dhcp/range: 192.168.93.254 is outside 192.168.92.0/24"},
		{"range backwards", edit("192.168.92.254", "192.168.92.1"), virterr.XMLError, "XML error: network 'broken': invalid ip/dhcp/range: start 192.168.92.2 is after end 192.168.92.1"},
		{"unknown forward", edit("mode='nat'", "mode='teleport'"), virterr.XMLError, "XML error: network 'broken': invalid forward/@mode: \"teleport\" is not known; use nat, route, open, bridge, private, vepa, passthrough or hostdev"},
		{"foreign namespace", edit("<network>", "<network xmlns:dnsmasq='http://libvirt.org/schemas/network/dnsmasq/1.0'><dnsmasq:options><dnsmasq:option value='x'/></dnsmasq:options>"), virterr.ConfigUnsupported, "unsupported configuration: network 'broken': dnsmasq:options/dnsmasq:option/@value is not supported: option \"x\" of dnsmasq is not read; dhcp-option, dhcp-match, dhcp-boot, server, local, address, host-record, cname, txt-record, srv-host and ptr-record are"},
		{"prefix of another namespace", edit("<network>", "<network xmlns:dnsmasq='urn:x'>"), virterr.XMLDetail, "XML error: line 1: prefix dnsmasq is bound to \"urn:x\"; it must be http://libvirt.org/schemas/network/dnsmasq/1.0"},
		{"option with a line of its own", edit("<network>", "<network xmlns:dnsmasq='http://libvirt.org/schemas/network/dnsmasq/1.0'><dnsmasq:options><dnsmasq:option value='server=192.0.2.1&#10;conf-file=/x'/></dnsmasq:options>"), virterr.XMLError, "XML error: network 'broken': invalid dnsmasq:options/dnsmasq:option/@value: server has no usable value"},
		{"IPv6 address without a family", edit("<ip ", "<ip address='fd00::1' prefix='64'/><ip "), virterr.ConfigUnsupported, "unsupported configuration: network 'broken': ip/@family is not supported: address fd00::1 is of IPv6; write family='ipv6'"},
		{"identifier too long", edit("<ip ", "<ip family='ipv6' address='fd00::1' prefix='64'><dhcp><host id='"+strings.Repeat("00", 131)+"' ip='fd00::2'/></dhcp></ip><ip "), virterr.XMLError, "XML error: network 'broken': invalid ip/dhcp/host/@id: identifier of 131 octets is too long (limit 130)"},
		{"name of a service too long", edit("<ip ", "<dns><srv service='"+strings.Repeat("s", 477)+"' protocol='tcp'/></dns><ip "), virterr.XMLError, "XML error: network 'broken': invalid dns/srv/@service: it is 477 bytes long (limit 476)"},
		{"folder that leads elsewhere", edit("<dhcp>", "<tftp root='/srv/../etc'/><dhcp>"), virterr.XMLError, "XML error: network 'broken': invalid ip/tftp/@root: \"/srv/../etc\" is no absolute path of a directory"},
	}...)
}

func TestWhatClientsSayBesideDocuments(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	well, err := w.c.Domain(t.Context(), "well")
	must(t, err)
	lookup := func(name string) func() error {
		return func() error { _, err := w.c.Domain(t.Context(), name); return err }
	}
	w.refuse(t, []bad{
		{"no such domain", lookup("nobody"), virterr.NoDomain, "Domain not found: no domain with matching name 'nobody'"},
		{"empty name", lookup(""), virterr.NoDomain, "Domain not found: no domain with matching name ''"},
		{"name of a path", lookup("../../etc/passwd"), virterr.NoDomain, "Domain not found: no domain with matching name '../../etc/passwd'"},
		{"name with NUL", lookup("we\x00ll"), virterr.NoDomain, "Domain not found: no domain with matching name 'we\x00ll'"},
		{"start what runs", func() error { _, err := w.c.StartDomain(t.Context(), well, 0); return err }, virterr.OperationInvalid, "Requested operation is not valid: domain is already running: 'well'"},
		{"create what runs", func() error { return w.create(guest("well", "")) }, virterr.OperationFailed, "operation failed: domain 'well' already exists with uuid UUID"},
		{"destroy nobody", func() error {
			return w.c.DestroyDomain(t.Context(), remote.Domain{Name: "nobody", UUID: [16]byte{1}, ID: 99})
		}, virterr.NoDomain, "Domain not found: no domain with matching uuid 'UUID'"},
		{"resume nobody", func() error { return w.c.ResumeDomain(t.Context(), remote.Domain{UUID: [16]byte{1}}) }, virterr.NoDomain, "Domain not found: no domain with matching uuid 'UUID'"},
		{"no such network", func() error { _, err := w.c.Network(t.Context(), "nowhere"); return err }, virterr.NoNetwork, "Network not found: no network with matching name 'nowhere'"},
	}...)
}
