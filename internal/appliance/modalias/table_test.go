package modalias

import (
	"path"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

const (
	sampleDep = `
virtio_net.ko: net_failover.ko failover.ko virtio.ko
net_failover.ko: failover.ko
failover.ko:
virtio.ko:
virtio-rng.ko: virtio.ko
8139cp.ko: mii.ko
8139too.ko: mii.ko
mii.ko:
`
	sampleAlias = `
# comment
alias virtio:d00000001v* virtio_net
alias virtio:d00000004v* virtio_rng
alias pci:v000010ECd00008139sv*sd*bc*sc*i* 8139cp
alias pci:v000010ECd00008139sv*sd*bc*sc*i* 8139too
`
)

func sample(t *testing.T) *Table {
	t.Helper()
	table, err := ReadTable(strings.NewReader(sampleDep), strings.NewReader(sampleAlias))
	if err != nil {
		t.Fatal(err)
	}
	return table
}

func TestDeviceAsksForTheModulesWhosePatternsItMatches(t *testing.T) {
	t.Parallel()
	table := sample(t)
	for want, modules := range map[string][]string{
		"virtio:d00000001v00001AF4":                             {"virtio_net"},
		"pci:v000010ECd00008139sv00001AF4sd00001100bc02sc00i00": {"8139cp", "8139too"},
		"pci:v00008086d00001237sv00001AF4sd00001100bc06sc00i00": nil,
		"virtio-rng":       {"virtio_rng"},
		"virtio_rng":       {"virtio_rng"},
		"":                 nil,
		"virtio:d00000001": nil,
	} {
		if diff := cmp.Diff(modules, table.Modules(want)); diff != "" {
			t.Errorf("Modules(%q) (-want +got):\n%s", want, diff)
		}
	}
}

func TestModulesAreLoadedAfterWhatTheyDependOn(t *testing.T) {
	t.Parallel()
	table := sample(t)
	for module, files := range map[string][]string{
		"virtio_net": {"virtio.ko", "failover.ko", "net_failover.ko", "virtio_net.ko"},
		"virtio_rng": {"virtio.ko", "virtio-rng.ko"},
		"failover":   {"failover.ko"},
		"absent":     nil,
	} {
		if diff := cmp.Diff(files, table.LoadOrder(module)); diff != "" {
			t.Errorf("LoadOrder(%q) (-want +got):\n%s", module, diff)
		}
	}
}

func TestTableThatIsNoTableIsRefused(t *testing.T) {
	t.Parallel()
	if _, err := ReadTable(strings.NewReader("no colon"), strings.NewReader("")); err == nil {
		t.Error("modules.dep without a colon was accepted")
	}
	if _, err := ReadTable(strings.NewReader(""), strings.NewReader("alias only-two")); err == nil {
		t.Error("modules.alias with two fields was accepted")
	}
}

func TestPatternsMatchAsFnmatchDoes(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		pattern, name string
		want          bool
	}{
		{"acpi*:LNXPWRBN:*", "acpi:LNXPWRBN:", true},
		{"acpi*:PNP0C0C:*", "acpi:PNP0C0C:PNP0C0D:", true},
		{"usb:v*d[0-3]*", "usb:v12d2x", true},
		{"usb:v*d[0-3]*", "usb:v12d4x", false},
		{"a?c", "abc", true},
		{"a?c", "ac", false},
		{"crypto-crc32c", "crypto_crc32c", true},
		{"*", "", true},
		{"", "", true},
		{"", "a", false},
		{"a[b", "ab", false},
		{"*a*b*c", "xxaxxbxxbxc", true},
		{"*a*b*c", "xxaxxcxxb", false},
	} {
		if got := Match(c.pattern, c.name); got != c.want {
			t.Errorf("Match(%q, %q) = %v, want %v", c.pattern, c.name, got, c.want)
		}
	}
}

func TestMatchAgreesWithTheStandardLibrary(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		pattern := rapid.StringMatching(`[ab*?]{0,12}`).Draw(t, "pattern")
		name := rapid.StringMatching(`[abc]{0,12}`).Draw(t, "name")
		want, err := path.Match(pattern, name)
		if err != nil {
			t.Fatal(err)
		}
		if got := Match(pattern, name); got != want {
			t.Errorf("Match(%q, %q) = %v, path.Match says %v", pattern, name, got, want)
		}
	})
}

func TestNameIgnoresFolderAndCompression(t *testing.T) {
	t.Parallel()
	got := []string{Name("kernel/drivers/char/hw_random/virtio-rng.ko"), Name("ext4.ko.xz"), Name("plain")}
	if want := []string{"virtio_rng", "ext4", "plain"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

func FuzzMatchEnds(f *testing.F) {
	f.Add("pci:v*d[0-9]*", "pci:v1d2")
	f.Fuzz(func(_ *testing.T, pattern, name string) { Match(pattern, name) })
}
