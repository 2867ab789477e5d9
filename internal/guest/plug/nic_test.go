package plug_test

import (
	"reflect"
	"strings"
	"testing"

	"taproom/internal/guest/plug"
	"taproom/internal/spec"
)

// nicsGuest has one NIC of each type that a tap is behind, and two with one address.
const nicsGuest = `<domain type='qemu'><name>g</name><memory>65536</memory><os><type machine='q35'>hvm</type></os><devices>
	<interface type='bridge' trustGuestRxFilters='no'><mac address='52:54:00:00:00:01'/><source bridge='br0'/><model type='virtio'/><driver queues='2'/><mtu size='1400'/><link state='up'/><boot order='1'/></interface>
	<interface type='network'><mac address='52:54:00:00:00:02'/><source network='lab'/><model type='e1000'/></interface>
	<interface type='user'><mac address='52:54:00:00:00:03'/><model type='virtio'/></interface>
	<interface type='network'><mac address='52:54:00:00:00:04'/><source network='lab'/><model type='virtio'/></interface>
	<interface type='network'><mac address='52:54:00:00:00:04'/><source network='lab'/><model type='virtio'/></interface>
	<interface type='bridge'><mac address='52:54:00:00:00:05'/><source bridge='br0'/><target dev='web%dx'/><model type='virtio'/></interface>
</devices></domain>`

// A NIC of a running guest gets another link state, or another network or bridge; whatever else is said differently is
// refused by name, and what is not said stays.
func TestOfARunningGuestsNICTheOtherEndIsChanged(t *testing.T) {
	t.Parallel()
	const (
		first  = "<mac address='52:54:00:00:00:01'/>"
		second = "<mac address='52:54:00:00:00:02'/>"
		third  = "<mac address='52:54:00:00:00:03'/>"
		fifth  = "<mac address='52:54:00:00:00:05'/>"
		later  = " while the guest runs; use --config, or detach the interface and attach it as it should be"
	)
	for _, c := range []struct{ change, is, refused string }{
		{"<interface type='bridge'>" + first + "<source bridge='br1'/><link state='down'/></interface>", "net0 bridge br1 down no", ""},
		{"<interface type='network'>" + first + "<source network='lab'/></interface>", "net0 network lab - no", ""},
		{"<interface type='bridge' trustGuestRxFilters='yes'>" + first + "</interface>", "net0 bridge br0 - yes", ""},
		{"<interface type='bridge'>" + second + "<source bridge='br0'/></interface>", "net1 bridge br0 - -", ""},
		{"<interface type='network'>" + second + "<source network='lab' portid='7c2c2c1e-0000-4000-8000-000000000000' bridge='virbr0'/><target dev='vnet7'/><alias name='net1'/></interface>", "net1 network lab - -", ""},
		{"<interface type='user'>" + third + "<link state='down'/></interface>", "net2 user  down -", ""},
		{"<interface type='bridge'>" + fifth + "<source bridge='br1'/><target dev='web12x'/></interface>", "net5 bridge br1 - -", ""},
		{"<interface type='bridge'>" + fifth + "<source bridge='br1'/><target dev='web%dx'/></interface>", "net5 bridge br1 - -", ""},
		{"<interface type='bridge'>" + fifth + "<port isolated='yes'/></interface>", "net5 bridge br0 - - isolated", ""},
		{"<interface type='user'>" + third + "<port isolated='yes'/></interface>", "", "unable to change config on 'user' network type" + later},
		{"<interface type='bridge'>" + fifth + "<target dev='webx'/></interface>", "", "cannot modify network device tap name" + later},
		{"<interface type='bridge'>" + fifth + "<target dev='web1ax'/></interface>", "", "cannot modify network device tap name" + later},
		{"<interface type='bridge'><mac address='52:54:00:00:00:09'/><source bridge='br0'/><alias name='net0'/></interface>", "", "cannot change network interface mac address from 52:54:00:00:00:01 to 52:54:00:00:00:09" + later},
		{"<interface type='bridge'>" + first + "<model type='e1000'/></interface>", "", "cannot modify network device model from virtio to e1000" + later},
		{"<interface type='bridge'>" + first + "<driver queues='4'/></interface>", "", "cannot modify network device driver attributes" + later},
		{"<interface type='bridge'>" + first + "<mtu size='1500'/></interface>", "", "cannot modify network MTU" + later},
		{"<interface type='network'>" + second + "<source network='lab'/><mtu size='1500'/></interface>", "", "cannot modify network MTU" + later},
		{"<interface type='bridge'>" + first + "<boot order='2'/></interface>", "", "cannot modify network device boot index setting" + later},
		{"<interface type='bridge'><source bridge='br0'/><alias name='net0'/><address type='pci' domain='0' bus='0' slot='0x1f' function='7'/></interface>", "", "cannot modify network device guest PCI address" + later},
		{"<interface type='user'>" + first + "</interface>", "", "unable to change config on 'user' network type: it is a 'bridge' interface" + later},
		{"<interface type='bridge'>" + third + "<source bridge='br0'/></interface>", "", "unable to change config on 'bridge' network type: it is a 'user' interface" + later},
		{"<interface type='bridge'>" + first + "<rom bar='off'/></interface>", "", "unable to change config on 'bridge' network type" + later},
		{"<interface type='bridge'><mac address='52:54:00:00:00:09'/></interface>", "", "no device matching MAC address 52:54:00:00:00:09 found"},
		{"<interface type='network'><mac address='52:54:00:00:00:04'/><link state='down'/></interface>", "", "multiple devices matching MAC address 52:54:00:00:00:04 found; add the address, or the alias, of the one that is meant"},
		{"<interface type='network'><mac address='52:54:00:00:00:04'/><link state='down'/><alias name='net4'/></interface>", "net4 network lab down -", ""},
	} {
		d := started(t, []byte(nicsGuest))
		given, err := spec.ParseDevice([]byte(c.change))
		if err != nil {
			t.Fatal(err)
		}
		v, err := plug.Only(given)
		if err != nil {
			t.Fatal(err)
		}
		alias := v.Alias()
		err = plug.Change(d, v, true)
		if c.refused != "" {
			if err == nil || err.Error() != c.refused {
				t.Errorf("%s\n%v, want %s", c.change, err, c.refused)
			}
			continue
		}
		if err != nil {
			t.Errorf("%s\n%v", c.change, err)
			continue
		}
		if alias == "" {
			alias = v.Alias()
		}
		if got := nicOf(d, alias); got != c.is {
			t.Errorf("%s\nis %q, want %q", c.change, got, c.is)
		}
		for i, n := range started(t, []byte(nicsGuest)).Devices.Interfaces { // what is not spoken of is as it was
			now := d.Devices.Interfaces[i]
			n.Type, n.Source, n.Link, n.TrustRx, n.Port = now.Type, now.Source, now.Link, now.TrustRx, now.Port
			if !reflect.DeepEqual(n, now) {
				t.Errorf("%s\nmade of %+v\nthis: %+v", c.change, n, now)
			}
		}
	}
}

// nicOf is what can change of a NIC.
func nicOf(d *spec.Domain, alias string) string {
	or := func(s string) string {
		if s == "" {
			return "-"
		}
		return s
	}
	for _, n := range d.Devices.Interfaces {
		if n.Alias.Name != alias {
			continue
		}
		source, link := "", ""
		if n.Source != nil {
			source = n.Source.Network + n.Source.Bridge
		}
		if n.Link != nil {
			link = n.Link.State
		}
		is := []string{alias, n.Type, source, or(link), or(n.TrustRx)}
		if n.Port != nil && n.Port.Isolated == "yes" {
			is = append(is, "isolated")
		}
		return strings.Join(is, " ")
	}
	return "none"
}
