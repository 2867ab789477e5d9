package inspect_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"taproom/disk/inspect"
)

// machine is one whose volumes are maps. It fails tests that leave something mounted.
type machine struct {
	volumes []inspect.Volume
	holds   map[string]memory // by volume, or volume and options
	mounted []string          // where
	tree    memory
	trace   []string
	dead    error
}

func (m *machine) Volumes(context.Context) ([]inspect.Volume, error) { return m.volumes, m.dead }
func (m *machine) FS(context.Context) fs.FS                          { return m.tree }
func (m *machine) Alive(context.Context) error                       { return m.dead }

func (m *machine) Mount(_ context.Context, volume, at, options string) error {
	files, ok := m.holds[volume+options]
	if !ok {
		return fmt.Errorf("%s: not mountable", volume)
	}
	m.trace = append(m.trace, strings.TrimSpace(volume+" "+at+" "+options))
	if at == "/" {
		m.tree = memory{}
	}
	for name, f := range files {
		m.tree[strings.TrimPrefix(path.Join(at, name), "/")] = f
	}
	m.mounted = append(m.mounted, at)
	return nil
}

func (m *machine) Unmount(_ context.Context, at string) error {
	if len(m.mounted) == 0 || m.mounted[len(m.mounted)-1] != at {
		return fmt.Errorf("%s is not what was mounted last: %v", at, m.mounted)
	}
	m.mounted = m.mounted[:len(m.mounted)-1]
	return nil
}

func (m *machine) Usage(_ context.Context, at string) (inspect.Usage, error) {
	return inspect.Usage{Size: int64(100 * len(at)), Used: 1, Available: 2}, nil
}

func TestEverySystemOfAnImageIsFoundWithWhatItsFstabMounts(t *testing.T) {
	t.Parallel()
	m := &machine{
		volumes: []inspect.Volume{
			{Name: "sda1", Type: "vfat", UUID: "AB-CD"},
			{Name: "sda2", Type: "ext4", UUID: "2a"},
			{Name: "sda3", Type: "swap"},
			{Name: "sda4", Type: "btrfs", Label: "fedora", PartUUID: "p4"},
			{Name: "sda5", Type: "xfs", Label: "data"},
			{Name: "mapper/v--g-home", Type: "ext4"},
			{Name: "sda6", Type: "ext4", UUID: "broken"},
			{Name: "sda7"},
		},
		holds: map[string]memory{
			"sda1": {"EFI/systemd/systemd-bootx64.efi": {}},
			"sda2": {"etc/os-release": {Data: []byte("ID=debian\n")}, "etc/fstab": {Data: []byte("UUID=2A / ext4\n/dev/v-g/home /srv/home ext4\n/dev/vda5 /srv xfs\nUUID=ab-cd /boot/efi vfat\n" +
				"UUID=broken /broken ext4\nUUID=elsewhere /gone ext4\n/dev/sda3 none swap\ntmpfs /tmp tmpfs\n")}},
			"sda4":             {"root/etc/os-release": {Data: []byte("ID=fedora\n")}, "home/x": {}},
			"sda4subvol=root":  {"etc/os-release": {Data: []byte("ID=fedora\n")}, "etc/fstab": {Data: []byte("PARTUUID=p4 /home btrfs subvol=home,compress=zstd:1 0 0\n")}},
			"sda4subvol=home":  {"x": {}},
			"sda5":             {"file": {}},
			"mapper/v--g-home": {"me/file": {}},
		},
	}
	r, err := inspect.Image(t.Context(), m, inspect.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if len(m.mounted) > 0 {
		t.Errorf("still mounted: %v", m.mounted)
	}
	wantTrace := []string{
		"sda1 /", "sda2 /", "sda4 /", "sda5 /", "mapper/v--g-home /", // looked into, one after the other
		"sda2 /", "sda5 /srv", "mapper/v--g-home /srv/home", "sda1 /boot/efi",
		"sda4 / subvol=root", "sda4 /home subvol=home",
	}
	if d := cmp.Diff(wantTrace, m.trace); d != "" {
		t.Errorf("mounts (-want +got):\n%s", d)
	}
	var got []string
	for _, s := range r.Systems {
		got = append(got, fmt.Sprintf("%v %s %v %v", s.Root, s.Distribution, s.Usage, s.Problems))
	}
	want := []string{
		"{sda2 } debian [{sda2 / 100 1 2} {sda5 /srv 400 1 2} {mapper/v--g-home /srv/home 900 1 2} {sda1 /boot/efi 900 1 2}] [{/etc/fstab mount sda6 at /broken: sda6: not mountable}]",
		"{sda4 subvol=root} fedora [{sda4 / 100 1 2} {sda4 /home 500 1 2}] []",
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("systems (-want +got):\n%s", d)
	}
}

func TestAnImageWithoutASystemIsItsVolumes(t *testing.T) {
	t.Parallel()
	m := &machine{volumes: []inspect.Volume{{Name: "sda", Type: "ext4"}}, holds: map[string]memory{"sda": {"file": {}}}}
	r, err := inspect.Image(t.Context(), m, inspect.Options{})
	if err != nil || len(r.Systems) != 0 || len(r.Volumes) != 1 || len(m.mounted) > 0 {
		t.Errorf("%+v, %v, mounted %v", r, err, m.mounted)
	}
}

func TestAMachineThatDiedIsNoImageWithoutSystems(t *testing.T) {
	t.Parallel()
	m := &machine{volumes: []inspect.Volume{{Name: "sda", Type: "ext4"}}}
	died := errors.New("it died")
	if _, err := inspect.Roots(t.Context(), &dying{m, died}, m.volumes); !errors.Is(err, died) {
		t.Errorf("got %v", err)
	}
}

// dying is a machine that dies of what it mounts.
type dying struct {
	*machine
	why error
}

func (d *dying) Alive(context.Context) error { return d.why }
