package cpumodel

import (
	"fmt"
	"slices"
	"strings"

	"taproom/internal/spec"
)

// Comparison is virCPUCompareResult: how the host's processor compares with another one.
type Comparison int32

// The results.
const (
	Incompatible Comparison = 0
	Identical    Comparison = 1
	Superset     Comparison = 2
)

// Features are those of a processor in a document, sorted, by QEMU's names.
func (k Known) Features(c *spec.CPU) (features []string, vendor string, err error) {
	if c.Mode == "host-model" && (c.Model == nil || c.Model.Value == "") || c.Mode == "maximum" || c.Mode == "host-passthrough" {
		features, vendor = slices.Clone(k.Host.Features), k.Host.Vendor
	} else {
		if c.Model == nil {
			return nil, "", &spec.InvalidError{Element: "cpu/model", Reason: "it is missing"}
		}
		name := strings.TrimSpace(c.Model.Value)
		m, known := k.model(name)
		if !known {
			return nil, "", &spec.UnsupportedError{Element: "cpu/model", Reason: fmt.Sprintf("the emulator has no model %q; `virsh cpu-models x86_64` lists them", name)}
		}
		features, vendor = slices.Clone(m.Features), m.Vendor
	}
	for _, f := range c.Features {
		name := QEMUName(f.Name)
		at, has := slices.BinarySearch(features, name)
		switch off := f.Policy == "disable" || f.Policy == "forbid"; {
		case off && has:
			features = slices.Delete(features, at, at+1)
		case !off && !has:
			features = slices.Insert(features, at, name)
		}
	}
	return slices.DeleteFunc(features, accelerators), vendor, nil
}

// Compare says how the host compares with a processor, and what it lacks.
func (k Known) Compare(c *spec.CPU) (Comparison, []string, error) {
	want, _, err := k.Features(c)
	if err != nil {
		return Incompatible, nil, err
	}
	has := slices.DeleteFunc(slices.Clone(k.Host.Features), accelerators)
	var missing []string
	for _, f := range without(want, has) {
		if !unseen(f) {
			missing = append(missing, documentName(f))
		}
	}
	switch {
	case len(missing) > 0:
		return Incompatible, missing, nil
	case len(without(has, want)) == 0:
		return Identical, nil, nil
	}
	return Superset, nil, nil
}

// Baseline is a processor that all of the given ones can play. expand names every feature that it has.
func (k Known) Baseline(cpus []*spec.CPU, expand bool) (*spec.CPU, error) {
	var common []string
	vendor := ""
	for i, c := range cpus {
		features, of, err := k.Features(c)
		switch {
		case err != nil:
			return nil, err
		case i == 0:
			common, vendor = features, of
		case of != vendor:
			return nil, &spec.UnsupportedError{Element: "cpu/vendor", Reason: fmt.Sprintf("processors of %s and of %s have no model in common", vendor, of)}
		}
		common = slices.DeleteFunc(common, func(f string) bool { _, has := slices.BinarySearch(features, f); return !has })
	}
	out := k.nearest(common, vendor)
	if out == nil {
		return nil, &spec.UnsupportedError{Element: "cpu", Reason: "the emulator has no model of vendor " + vendor}
	}
	if expand {
		out.Features = slices.DeleteFunc(out.Features, func(f spec.CPUFeature) bool { return f.Policy == "require" })
		off := out.Features
		out.Features = nil
		add(out, "require", common)
		out.Features = append(out.Features, off...)
	}
	return out, nil
}
