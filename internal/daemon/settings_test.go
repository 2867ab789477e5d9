package daemon

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"taproom/internal/engine"
	"taproom/internal/host"
)

func read(t testing.TB, toml string) (Settings, error) {
	t.Helper()
	p := engine.NewPaths(t.TempDir())
	if err := os.MkdirAll(p.Config, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(p.Config, "taproomd.toml"), []byte(toml), 0o644); err != nil {
		t.Fatal(err)
	}
	k := host.New(host.Options{})
	defer k.Close()
	return readSettings(k, p, engine.NewIdentity(""))
}

func TestSettingsAreReadOverTheDefaults(t *testing.T) {
	t.Parallel()
	got, err := read(t, "uid_count = 100\nvnc_port_first = 6000\nqemu_ready_seconds = 5\n")
	want := Settings{
		Group: "libvirt", Emulator: "/usr/bin/qemu-system-x86_64", UIDFirst: 1_900_000_000, UIDCount: 100,
		VNCPortFirst: 6000, VNCPortLast: 65_535, QEMUReadySeconds: 5, SaveImageFormat: "raw", DumpImageFormat: "raw",
		OVSSocket: "/run/openvswitch/db.sock", OVSTimeoutSeconds: 5, HealLinks: true, HealFirewall: true, FirewallBackend: "auto", NFTOwnedTables: true, SystemBus: "/run/dbus/system_bus_socket",
		MaxClients: 5000, MaxUserClients: 100, MessageMemoryMiB: 64, ReplyMemoryMiB: 16,
	}
	if d := cmp.Diff(want, got); d != "" || err != nil {
		t.Errorf("settings (-want +got), %v:\n%s", err, d)
	}
	k := host.New(host.Options{})
	defer k.Close()
	none, err := readSettings(k, engine.NewPaths(t.TempDir()), engine.NewIdentity(""))
	if err != nil || none.check() != nil || none.UIDCount != 65_536 {
		t.Errorf("without a file: %+v, %v", none, err)
	}
}

// FuzzSettings: whatever the file holds, the settings are sound or refused in words without Go's types.
func FuzzSettings(f *testing.F) {
	for _, seed := range []string{
		"", "group = 'libvirt'", "uid_first = 70000\nuid_count = 3", "uid_first = 'x'", "[uid_first]", "a.b = 1", "uid_count = 1e9",
		"vnc_port_last = 0x7fff_ffff_ffff_ffff", "emulator = '/bin/x'\nemulator = '/bin/y'", "\x00", "= 1", "qemu_ready_seconds = 1970-01-01",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, toml string) {
		s, err := read(t, toml)
		if err == nil {
			err = s.check()
		}
		if err != nil && (strings.Contains(err.Error(), "Go ") || strings.Contains(err.Error(), "struct")) {
			t.Errorf("%q: %v", toml, err)
		}
		if err == nil && (s.UIDFirst <= 0 || s.UIDFirst+s.UIDCount > 1<<32 || s.VNCPortLast > 65_535) {
			t.Errorf("%q was accepted: %+v", toml, s)
		}
	})
}
