package cpumodel

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"taproom/internal/spec"
)

// known is an emulator of three models on a host that has b, c, d and x-y.
func known() Known {
	return Known{
		Host: Definition{Vendor: "AuthenticAMD", Features: []string{"b", "c", "d", "kvm-x", "lahf-lm"}},
		Models: []Definition{
			{Name: "Far", Vendor: "AuthenticAMD", Features: []string{"a", "z"}, Lacks: []string{"a", "z"}},
			{Name: "Near", Vendor: "AuthenticAMD", Features: []string{"a", "b", "c"}, Lacks: []string{"a", "type"}},
			{Name: "Old", Vendor: "AuthenticAMD", Features: []string{"b", "c", "d", "lahf-lm"}, Deprecated: true},
			{Name: "Other", Vendor: "GenuineIntel", Features: []string{"b", "c", "d", "lahf-lm"}},
		},
	}
}

// text is a processor in one line: its mode, check, model, and + or - its features.
func text(c *spec.CPU) string {
	if c == nil {
		return "none"
	}
	words := []string{c.Mode, c.Check}
	if c.Model != nil {
		words = append(words, c.Model.Value)
	}
	for _, f := range c.Features {
		sign := map[string]string{"require": "+", "optional": "?", "disable": "-", "forbid": "!"}[f.Policy]
		words = append(words, sign+f.Name)
	}
	return strings.Join(words, " ")
}

func cpu(mode, check, model string, features ...string) *spec.CPU {
	c := &spec.CPU{Mode: mode, Check: check}
	if model != "" {
		c.Model = &spec.CPUModel{Value: model}
	}
	for _, f := range features {
		policy := map[byte]string{'+': "require", '?': "optional", '-': "disable", '!': "forbid"}[f[0]]
		c.Features = append(c.Features, spec.CPUFeature{Policy: policy, Name: f[1:]})
	}
	return c
}

func TestAProcessorThatRunsIsWhatTheHostGives(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		in            *spec.CPU
		want, missing string
	}{
		{cpu("host-model", "partial", ""), "custom full Near +d +lahf_lm -a", ""},
		{cpu("host-model", "partial", "", "-d", "+e", "?a"), "custom full Near +lahf_lm -d +e ?a", "e"},
		{cpu("custom", "none", "Near"), "custom full Near -a", ""},
		{cpu("custom", "partial", "Near"), "custom full Near -a", "a"},
		{cpu("custom", "partial", "Near", "-a", "+lahf_lm", "+invtsc"), "custom partial Near -a +lahf_lm +invtsc", ""},
		{cpu("custom", "full", "Near", "-a", "+e"), "custom full Near -a +e", "e"},
		{cpu("custom", "none", "Old"), "custom none Old", ""},
		{cpu("custom", "none", "Unheard-of"), "custom none Unheard-of", ""},
		{cpu("host-passthrough", "none", ""), "host-passthrough none", ""},
		{nil, "none", ""},
	} {
		before := text(c.in)
		got, missing := known().Run(c.in)
		if text(got) != c.want || strings.Join(missing, " ") != c.missing {
			t.Errorf("%s runs as %s, and lacks %v; want %s, lacking %q", before, text(got), missing, c.want, c.missing)
		}
		if text(c.in) != before {
			t.Errorf("%s was changed to %s", before, text(c.in))
		}
	}
	if got, _ := (Known{}).Run(cpu("host-model", "", "")); got.Mode != "host-model" {
		t.Errorf("an emulator that said nothing: %s", text(got))
	}
}

func TestProcessorsAreComparedWithTheHosts(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		in      *spec.CPU
		want    Comparison
		missing string
		err     string
	}{
		{cpu("custom", "", "Near"), Incompatible, "a", ""},
		{cpu("custom", "", "Near", "-a"), Superset, "", ""},
		{cpu("custom", "", "Old"), Identical, "", ""},
		{cpu("host-model", "", ""), Identical, "", ""},
		{cpu("", "", "Old", "-b"), Superset, "", ""},
		{cpu("custom", "", "Martian"), Incompatible, "", "cpu/model is not supported: the emulator has no model \"Martian\"; `virsh cpu-models x86_64` lists them"},
		{cpu("custom", "", ""), Incompatible, "", "invalid cpu/model: it is missing"},
	} {
		got, missing, err := known().Compare(c.in)
		said := ""
		if err != nil {
			said = err.Error()
		}
		if got != c.want || strings.Join(missing, " ") != c.missing || said != c.err {
			t.Errorf("%s: %d, lacking %v, %v; want %d, %q, %q", text(c.in), got, missing, err, c.want, c.missing, c.err)
		}
	}
}

func TestABaselineIsWhatAllCanPlay(t *testing.T) {
	t.Parallel()
	k := known()
	got, err := k.Baseline([]*spec.CPU{cpu("host-model", "", ""), cpu("custom", "", "Near")}, false)
	if want := "custom  Near -a"; err != nil || text(got) != want {
		t.Errorf("got %s, %v; want %s", text(got), err, want)
	}
	got, err = k.Baseline([]*spec.CPU{cpu("host-model", "", ""), cpu("custom", "", "Near")}, true)
	if want := "custom  Near +b +c -a"; err != nil || text(got) != want {
		t.Errorf("expanded: got %s, %v; want %s", text(got), err, want)
	}
	_, err = k.Baseline([]*spec.CPU{cpu("custom", "", "Other"), cpu("custom", "", "Near")}, true)
	if want := "cpu/vendor is not supported: processors of GenuineIntel and of AuthenticAMD have no model in common"; err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
}

// However models and hosts differ, the host's processor in a document has exactly the host's features.
func TestTheNearestModelHasTheFeaturesThatWereAskedFor(t *testing.T) {
	t.Parallel()
	names := rapid.SliceOfDistinct(rapid.SampledFrom([]string{"a", "b", "c", "d", "lahf-lm", "pclmulqdq", "sse4.1", "x2apic"}), func(s string) string { return s })
	rapid.Check(t, func(t *rapid.T) {
		draw := func(label string) Definition {
			d := Definition{Name: label, Vendor: "AuthenticAMD", Features: names.Draw(t, label)}
			slices.Sort(d.Features)
			return d
		}
		k := Known{Host: draw("host")}
		for range rapid.IntRange(1, 4).Draw(t, "n") {
			k.Models = append(k.Models, draw("m"+string(rune('a'+len(k.Models)))))
		}
		got, _, err := k.Features(k.HostModel())
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(k.Host.Features, got); len(got)+len(k.Host.Features) > 0 && diff != "" {
			t.Errorf("%s (-host +got):\n%s", text(k.HostModel()), diff)
		}
		if r, _, err := k.Compare(k.HostModel()); r != Identical || err != nil {
			t.Errorf("the host compares with itself as %d, %v", r, err)
		}
	})
}
