package spec

import (
	"reflect"
	"strings"
	"testing"
)

// every is a document with one device of each kind, and all there is to say of it.
func every(t *testing.T) *Devices {
	t.Helper()
	var b strings.Builder
	full(&b, "devices", plans()[reflect.TypeFor[Devices]()], 0)
	d, err := ParseDomain([]byte("<domain xmlns:x='urn:x' type='qemu'><name>n</name>" + b.String() + "</domain>"))
	if err != nil {
		t.Fatal(err)
	}
	return d.Devices
}

func TestEveryDeviceIsListedTakenAwayAndAppendedAgain(t *testing.T) {
	t.Parallel()
	all := every(t).List()
	kinds := map[string]bool{}
	for _, v := range all {
		kinds[v.Kind] = true
	}
	for _, f := range plans()[reflect.TypeFor[Devices]()].elements {
		if f.name != "emulator" && !kinds[f.name] {
			t.Errorf("no %s is listed", f.name)
		}
	}
	for i, v := range all {
		d := every(t)
		d.Delete(d.List()[i])
		if got := len(d.List()); got != len(all)-1 {
			t.Errorf("%s: %d devices are left, want %d", v.Kind, got, len(all)-1)
		}
		one := every(t)
		for _, other := range all {
			if list := one.List(); other != v && len(list) > 1 {
				at := 0
				if list[0].Kind == v.Kind && list[0].index == v.index {
					at = 1
				}
				one.Delete(list[at])
			}
		}
		d.Append(one)
		if got := len(d.List()); got != len(all) {
			t.Errorf("%s: %d devices are there when it is appended, want %d: %+v", v.Kind, got, len(all), one.List())
		}
	}
}

func TestADeviceIsKnownByWhatIsSaidOfIt(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		have, said string
		want       bool
	}{
		{`<rng model='virtio'><backend model='random'>/dev/urandom</backend><alias name='rng0'/></rng>`, `<rng model='virtio'><backend model='random'> /dev/urandom </backend><alias name='rng7'/></rng>`, true},
		{`<rng model='virtio'><backend model='random'>/dev/urandom</backend></rng>`, `<rng model='virtio'><backend model='builtin'/></rng>`, false},
		{`<input type='tablet' bus='usb'><address type='usb' bus='0' port='1'/></input>`, `<input type='tablet' bus='usb'/>`, true},
		{`<input type='tablet' bus='usb'/>`, `<input type='tablet' bus='usb'><address type='usb' bus='0' port='1'/></input>`, false},
		{`<watchdog model='i6300esb'><address type='pci' slot='0x04'/></watchdog>`, `<watchdog model='i6300esb'><address type='pci' slot='4'/></watchdog>`, true},
		{`<watchdog model='i6300esb'/>`, `<input type='tablet' bus='usb'/>`, false},
	} {
		have, err := ParseDevice([]byte(c.have))
		if err != nil {
			t.Fatal(err)
		}
		said, err := ParseDevice([]byte(c.said))
		if err != nil {
			t.Fatal(err)
		}
		if got := have.List()[0].Says(said.List()[0]); got != c.want {
			t.Errorf("%s is %s: %v, want %v", c.have, c.said, got, c.want)
		}
	}
}
