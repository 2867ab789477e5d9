package plug_test

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"

	"taproom/internal/guest"
	"taproom/internal/guest/firmware"
	"taproom/internal/spec"
)

// facts is a host as the documents of guest's tests expect it.
func facts() guest.HostFacts {
	return guest.HostFacts{
		Arch: "x86_64", Emulator: "/usr/bin/qemu-system-x86_64",
		Machines: []guest.Machine{
			{Name: "pc-i440fx-7.2", Alias: "pc", MaxCPUs: 255},
			{Name: "pc-q35-7.2", Alias: "q35", MaxCPUs: 288},
			{Name: "pc-i440fx-6.2", MaxCPUs: 255},
			{Name: "pc-q35-7.1", MaxCPUs: 288},
			{Name: "microvm", MaxCPUs: 288},
			{Name: "isapc", MaxCPUs: 1},
		},
		Firmware: func() firmware.List { return firmware.List{} },
		NewMAC:   func() string { return "52:54:00:00:00:ff" },
		NewUUID:  func() spec.UUID { return spec.UUID{0xff} },
	}
}

// started is a guest as it is started from a document: what it consists of and what that compiles to.
func started(t testing.TB, xml []byte) *spec.Domain {
	t.Helper()
	d, err := spec.ParseDomain(xml)
	if err == nil {
		err = guest.Complete(d, facts())
	}
	if err == nil {
		err = guest.Name(d)
	}
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// compile compiles a document of a run that has fixed something already.
func compile(t testing.TB, d *spec.Domain, pins guest.Pins) *guest.Compiled {
	t.Helper()
	c, err := guest.Compile(d, runtime(d, pins))
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func runtime(d *spec.Domain, pins guest.Pins) guest.Runtime {
	rt := guest.Runtime{
		Accel: "tcg", Dir: "/run/taproom/guests/" + d.Name, QMP: "qmp", Pins: pins,
		Now: time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC), MemoryDir: "/mem", CID: 3,
	}
	for range d.Devices.Graphics {
		rt.Displays = append(rt.Displays, guest.DisplayRuntime{Port: 5907, WebSocket: 5807})
	}
	for range d.Devices.Interfaces {
		rt.NICs = append(rt.NICs, guest.NICRuntime{Tap: "vnet0"})
	}
	return rt
}

// golden compares a section of a case with what there is now; TAPROOM_UPDATE=1 writes it.
func golden(t *testing.T, path, section, got string) {
	t.Helper()
	a, err := txtar.ParseFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for i := range a.Files {
		if a.Files[i].Name == section {
			if d := cmp.Diff(string(a.Files[i].Data), got); d != "" && os.Getenv("TAPROOM_UPDATE") == "" {
				t.Errorf("%s: %s (-want +got):\n%s", path, section, d)
			}
			a.Files[i].Data = []byte(got)
			if os.Getenv("TAPROOM_UPDATE") != "" {
				write(t, path, a)
			}
			return
		}
	}
	if os.Getenv("TAPROOM_UPDATE") == "" {
		t.Fatalf("%s has no section %s; write it with TAPROOM_UPDATE=1", path, section)
	}
	a.Files = append(a.Files, txtar.File{Name: section, Data: []byte(got)})
	write(t, path, a)
}

func write(t *testing.T, path string, a *txtar.Archive) {
	t.Helper()
	if err := os.WriteFile(path, txtar.Format(a), 0o644); err != nil {
		t.Fatal(err)
	}
}

// files are the sections of a case.
func files(t testing.TB, path string) map[string][]byte {
	t.Helper()
	a, err := txtar.ParseFile(path)
	if err != nil {
		t.Fatal(err)
	}
	out := map[string][]byte{}
	for _, f := range a.Files {
		out[f.Name] = bytes.TrimSpace(f.Data)
	}
	return out
}

// corpus are documents of guest's own tests that can be started.
func corpus(t testing.TB) map[string]*spec.Domain {
	t.Helper()
	out := map[string]*spec.Domain{}
	paths, err := filepath.Glob("../testdata/define/*.txtar")
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range append(paths, "../testdata/vsock/auto.txtar") {
		d, err := spec.ParseDomain(files(t, p)["domain.xml"])
		if err != nil || guest.Complete(d, facts()) != nil || guest.Name(d) != nil {
			continue // it is one that is refused here, where no firmware is installed
		}
		if _, err := guest.Compile(d, runtime(d, guest.Pins{})); err == nil {
			out[strings.TrimSuffix(filepath.Base(p), ".txtar")] = d
		}
	}
	if len(out) < 25 {
		t.Fatalf("%d documents can be started, of %d", len(out), len(paths))
	}
	return out
}
