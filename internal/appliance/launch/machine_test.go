package launch

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"taproom/internal/appliance/build"
	"taproom/internal/qemu"
)

func testMachine(kind, accel string) machine {
	return machine{
		qemu: qemu.Installation{Binary: "/usr/bin/qemu-system-x86_64"}, kind: kind, accel: accel, memory: 128,
		files: build.Files{
			Kernel: "/cache/vmlinux", Initrd: "/cache/initrd", Cmdline: []string{"quiet", "nolapic_timer"}, TemplateCmdline: []string{"quiet"}, Key: "k",
		},
	}
}

func withNIC(kind string) machine {
	m := testMachine(kind, "tcg")
	m.nic = true
	return m
}

func TestCommandLines(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		machine machine
		use     memoryUse
	}{
		"microvm-cold":         {testMachine("microvm", "tcg"), ownMemory},
		"microvm-template":     {testMachine("microvm", "tcg"), frozenMemory},
		"microvm-clone":        {testMachine("microvm", "tcg"), privateMemory},
		"q35-cold-kvm":         {testMachine("q35", "kvm"), ownMemory},
		"microvm-template-nic": {withNIC("microvm"), frozenMemory},
		"q35-cold-nic":         {withNIC("q35"), ownMemory},
		"pc-clone-tools": {func() machine {
			m := testMachine("pc", "tcg")
			m.files.Tools = "/cache/tools"
			return m
		}(), privateMemory},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := c.machine.config(c.use).Shell(nil)
			if err != nil {
				t.Fatal(err)
			}
			golden(t, name+".sh", got)
		})
	}
}

// golden compares a text with the one that is kept.
func golden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if os.Getenv("TAPROOM_UPDATE") != "" {
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(string(want), got); d != "" {
		t.Errorf("(-want +got; TAPROOM_UPDATE=1 writes it):\n%s", d)
	}
}

// A clone that differed from its template in a device would be refused by QEMU, or worse.
func TestACloneHasTheDevicesOfItsTemplate(t *testing.T) {
	t.Parallel()
	for _, kind := range kinds {
		m := testMachine(kind, "tcg")
		template, clone := m.config(frozenMemory), m.config(privateMemory)
		if d := cmp.Diff(template.Devices, clone.Devices); d != "" {
			t.Errorf("%s (-template +clone):\n%s", kind, d)
		}
		clone.Incoming = false
		clone.Objects[0] = template.Objects[0] // share=on
		if d := cmp.Diff(template, clone); d != "" {
			t.Errorf("%s differs in more than its memory (-template +clone):\n%s", kind, d)
		}
	}
}
