package plug_test

import (
	"errors"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"taproom/internal/guest"
	"taproom/internal/guest/plug"
	"taproom/internal/spec"
)

// A case is a guest, a device that is attached to it or changed, and the commands that do it, and that take it back.
func TestADeviceIsPluggedByTheDifference(t *testing.T) {
	t.Parallel()
	paths, err := filepath.Glob("testdata/*.txtar")
	if err != nil || len(paths) == 0 {
		t.Fatal(paths, err)
	}
	for _, path := range paths {
		t.Run(strings.TrimSuffix(filepath.Base(path), ".txtar"), func(t *testing.T) {
			f := files(t, path)
			before := started(t, f["domain.xml"])
			from := compile(t, before, guest.Pins{})
			after, err := changed(before, f["device.xml"], f["change.xml"])
			if err == nil {
				to := compile(t, after, from.Pins)
				golden(t, path, "plug", steps(between(t, from, to)))
				back := compile(t, before, to.Pins)
				golden(t, path, "unplug", steps(between(t, to, back)))
				return
			}
			golden(t, path, "refused", err.Error()+"\n")
		})
	}
}

// changed is a document with a device more, or with one that is different.
func changed(before *spec.Domain, device, change []byte) (*spec.Domain, error) {
	d := before.Clone()
	given, err := spec.ParseDevice(append(slices.Clone(device), change...))
	if err != nil {
		return nil, err
	}
	v, err := plug.Only(given)
	if err != nil {
		return nil, err
	}
	if len(change) > 0 {
		err = plug.Change(d, v, true)
	} else if err = plug.Attachable(v); err == nil {
		d.Devices.Append(given)
	}
	if err == nil {
		err = guest.CompleteRunning(d, facts())
	}
	if err == nil {
		err = guest.Name(d)
	}
	if err != nil {
		return nil, err
	}
	a, err := guest.Compile(before, runtime(before, guest.Pins{}))
	if err != nil {
		return nil, err
	}
	b, err := guest.Compile(d, runtime(d, a.Pins))
	if err == nil {
		_, err = plug.Between(a, b)
	}
	return d, err
}

func between(t *testing.T, from, to *guest.Compiled) []plug.Step {
	t.Helper()
	s, err := plug.Between(from, to)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func steps(list []plug.Step) string {
	var b strings.Builder
	for _, s := range list {
		b.WriteString(s.String() + "\n")
	}
	return b.String()
}

// Whatever of a guest can be plugged: unplugging leads to the guest without it, plugging it in again back to the first one,
// command by command as QEMU accepts them; and there is nothing between a guest and itself.
func TestPluggingLeadsThereAndUnpluggingBack(t *testing.T) {
	t.Parallel()
	all := corpus(t)
	pluggable := func(v spec.AnyDevice) bool {
		return v.Kind != "controller" && v.Alias() != "" && plug.Detachable(v) == nil
	}
	kinds := map[string]int{}
	for _, d := range all {
		for _, v := range d.Devices.List() {
			if pluggable(v) {
				kinds[v.Kind]++
			}
		}
	}
	for _, kind := range []string{"disk", "interface", "channel", "rng", "input", "vsock"} {
		if kinds[kind] == 0 {
			t.Errorf("no document has a %s that could be plugged: %v", kind, kinds)
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		name := rapid.SampledFrom(slices.Sorted(maps.Keys(all))).Draw(t, "document")
		whole := all[name]
		a, err := guest.Compile(whole, runtime(whole, guest.Pins{}))
		if err != nil {
			t.Fatal(err)
		}
		if s, err := plug.Between(a, a); len(s) > 0 || err != nil {
			t.Fatalf("between %s and itself: %v, %v", name, s, err)
		}
		part := whole.Clone()
		for _, v := range slices.Backward(part.Devices.List()) {
			if pluggable(v) && rapid.Bool().Draw(t, v.Alias()) {
				part.Devices.Delete(v)
			}
		}
		b, err := guest.Compile(part, runtime(part, a.Pins))
		if err != nil {
			t.Fatal(err)
		}
		m := running(a.Config)
		walk(t, m, a, b)
		walk(t, m, b, a)
	})
}

// walk leads a guest from one configuration to another.
func walk(t *rapid.T, m *model, from, to *guest.Compiled) {
	steps, err := plug.Between(from, to)
	if err != nil {
		var fixed *plug.FixedError
		if errors.As(err, &fixed) && strings.Contains(err.Error(), "confined") { // a user-mode NIC, say
			t.Skip()
		}
		t.Fatal(err)
	}
	for _, s := range steps {
		if err := m.do(s); err != nil {
			t.Fatalf("%s: %v", s, err)
		}
	}
	if d := cmp.Diff(running(to.Config).String(), m.String()); d != "" {
		t.Fatalf("it is not what it should be (-want +got):\n%s", d)
	}
}

// A number of a set of descriptors that a device holds is given to nothing else, whatever else comes and goes.
func TestSetsOfDescriptorsKeepTheirNumbers(t *testing.T) {
	t.Parallel()
	d := started(t, []byte(`<domain type='qemu'><name>g</name><memory>65536</memory><os><type machine='q35'>hvm</type></os><devices>
		<disk type='file' device='disk'><driver name='qemu' type='raw'/><source file='/a'/><target dev='vda'/></disk>
		<disk type='file' device='disk'><driver name='qemu' type='raw'/><source file='/b'/><target dev='vdb'/></disk>
		<serial type='file'><source path='/log'/></serial></devices></domain>`))
	pins := compile(t, d, guest.Pins{}).Pins
	if d := cmp.Diff(map[string]int{"disk vda: /a": 1, "disk vdb: /b": 2, "serial0: /log": 3}, pins.FDSets); d != "" {
		t.Fatalf("at the start (-want +got):\n%s", d)
	}
	d.Devices.Disks = d.Devices.Disks[1:]
	pins = compile(t, d, pins).Pins
	if d := cmp.Diff(map[string]int{"disk vdb: /b": 2, "serial0: /log": 3}, pins.FDSets); d != "" {
		t.Errorf("without the first disk (-want +got):\n%s", d)
	}
	d.Devices.Disks[0].Source.File = "/c"
	pins = compile(t, d, pins).Pins
	if d := cmp.Diff(map[string]int{"disk vdb: /c": 4, "serial0: /log": 3}, pins.FDSets); d != "" {
		t.Errorf("with another file behind the second (-want +got):\n%s", d)
	}
}
