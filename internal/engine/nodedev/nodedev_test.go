package nodedev

import (
	"encoding/xml"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"

	"taproom/internal/host"
)

// fake is a sysfs made of a file: "NAME" is an attribute, "NAME -> TARGET" a link.
func fake(t *testing.T, files []txtar.File) Sysfs {
	t.Helper()
	root := t.TempDir()
	for _, f := range files {
		name, target, link := strings.Cut(f.Name, " -> ")
		path := filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		var err error
		if link {
			to := filepath.Join(root, target)
			if err = os.MkdirAll(to, 0o755); err == nil {
				err = os.Symlink(to, path)
			}
		} else {
			err = os.WriteFile(path, f.Data, 0o644)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	k := host.New(host.Options{})
	t.Cleanup(k.Close)
	return Sysfs{Kernel: k, Root: root}
}

func TestDevicesAreNamedAndDescribedAsLibvirtDoes(t *testing.T) {
	t.Parallel()
	ar, err := txtar.ParseFile("testdata/machine.txtar")
	if err != nil {
		t.Fatal(err)
	}
	all, err := fake(t, ar.Files).Devices()
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	for _, d := range all {
		b.WriteString(d.XML())
	}
	if os.Getenv("TAPROOM_UPDATE") != "" {
		if err := os.WriteFile("testdata/machine.xml", []byte(b.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile("testdata/machine.xml")
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), b.String()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// This host's own, whatever it has: every document can be read, and every parent is there.
func TestThisHostsDevicesAreATree(t *testing.T) {
	t.Parallel()
	k := host.New(host.Options{})
	defer k.Close()
	all, err := Sysfs{Kernel: k}.Devices()
	if err != nil {
		t.Fatal(err)
	}
	names := map[string]bool{"": true}
	for _, d := range all {
		if names[d.Name] {
			t.Errorf("two devices are called %s", d.Name)
		}
		names[d.Name] = true
	}
	for _, d := range all {
		if !names[d.Parent] || d.Parent == "" && d.Name != Computer {
			t.Errorf("%s is below %q, which is not there", d.Name, d.Parent)
		}
		if err := xml.Unmarshal([]byte(d.XML()), new(struct{ XMLName xml.Name })); err != nil {
			t.Errorf("%s: %v: %s", d.Name, err, d.XML())
		}
		if Flag(d.Type) == 0 {
			t.Errorf("%s is a %q, which nobody can ask for", d.Name, d.Type)
		}
	}
	if !names["net_lo_00_00_00_00_00_00"] {
		t.Errorf("there is no loopback interface among %d devices", len(all))
	}
}

func TestWhatFirmwareSaysOfTheMachineIsADocument(t *testing.T) {
	t.Parallel()
	ar, err := txtar.ParseFile("testdata/machine.txtar")
	if err != nil {
		t.Fatal(err)
	}
	want := `<sysinfo type='smbios'>
  <bios>
    <entry name='vendor'>SeaBIOS &amp; Co</entry>
    <entry name='date'>04/01/2014</entry>
  </bios>
  <system>
    <entry name='manufacturer'>QEMU</entry>
    <entry name='product'>Standard PC (Q35 + ICH9, 2009)</entry>
  </system>
</sysinfo>
`
	if diff := cmp.Diff(want, fake(t, ar.Files).Sysinfo()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if got := fake(t, nil).Sysinfo(); got != "" {
		t.Errorf("firmware that says nothing is %q", got)
	}
}
