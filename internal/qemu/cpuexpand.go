package qemu

import (
	"context"
	"encoding/json"
	"errors"
	"regexp"
	"slices"

	"taproom/internal/qemu/qmp"
)

// CPUDefinition is what QEMU makes of a processor by name, whether or not the host can give it to a guest.
type CPUDefinition struct {
	Name     string   `json:"name"`
	Vendor   string   `json:"vendor,omitempty"` // as CPUID says it
	Features []string `json:"features"`         // sorted
}

// versioned is a model of which a shorter name means the same, or an older version.
func versioned(name string) bool { return regexp.MustCompile(`-v[0-9]+$`).MatchString(name) }

// wholeCPU is the processor that has everything a guest can get under an accelerator.
func wholeCPU(accel string) string {
	if accel == "kvm" {
		return "host"
	}
	return "max"
}

// expand asks what each processor consists of: about a millisecond for each, once for a binary.
func expand(ctx context.Context, c *qmp.Client, accel string, caps *Capabilities) error {
	var out []CPUDefinition
	for _, cpu := range caps.CPUs[accel] {
		other := cpu.Name != wholeCPU(accel) && (cpu.Name == "max" || cpu.Name == "host" || cpu.Name == "base")
		if other || versioned(cpu.Name) {
			continue
		}
		d, err := expandOne(ctx, c, cpu.Name)
		var refused *qmp.Error
		if errors.As(err, &refused) { // an architecture whose processors are not expanded
			continue
		}
		if err != nil {
			return err
		}
		out = append(out, d)
	}
	if caps.Definitions == nil {
		caps.Definitions = map[string][]CPUDefinition{}
	}
	caps.Definitions[accel] = out
	return nil
}

func expandOne(ctx context.Context, c *qmp.Client, name string) (CPUDefinition, error) {
	var reply struct {
		Model struct {
			Props map[string]json.RawMessage `json:"props"`
		} `json:"model"`
	}
	args := map[string]any{"type": "static", "model": map[string]any{"name": name}}
	if err := c.Execute(ctx, "query-cpu-model-expansion", args, &reply); err != nil {
		return CPUDefinition{}, err
	}
	d := CPUDefinition{Name: name}
	for key, value := range reply.Model.Props {
		switch {
		case string(value) == "true":
			d.Features = append(d.Features, key)
		case key == "vendor":
			_ = json.Unmarshal(value, &d.Vendor) // not a string: no vendor
		}
	}
	slices.Sort(d.Features)
	return d, nil
}
