package launch

import (
	"os"
	"path/filepath"
	"testing"

	"taproom/internal/host"
)

func TestATemplateIsGoodForWhatItWasMadeFromAndNothingElse(t *testing.T) {
	t.Parallel()
	k, dir := host.New(host.Options{}), t.TempDir()
	file := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	make := func() machine {
		m := testMachine("microvm", "tcg")
		m.qemu.Binary, m.files.Kernel, m.files.Initrd = file("qemu", "q"), filepath.Join(dir, "kernel"), filepath.Join(dir, "initrd")
		return m
	}
	file("kernel", "k")
	file("initrd", "i")
	hash := func(m machine) string {
		key, err := m.key(k)
		if err != nil {
			t.Fatal(err)
		}
		h, err := key.hash()
		if err != nil {
			t.Fatal(err)
		}
		return h
	}
	m := make()
	first := hash(m)
	if again := hash(m); again != first {
		t.Fatalf("the same machine has the keys %s and %s", first, again)
	}
	seen := map[string]string{first: "the first"}
	if key, err := m.key(k); err != nil || key.CPU == "" {
		t.Errorf("an emulated machine has the host's counter, and its template is of the processor %q (%v)", key.CPU, err)
	}
	other := func(what string, change func(m *machine)) {
		changed := m
		change(&changed)
		h := hash(changed)
		if was := seen[h]; was != "" {
			t.Errorf("%s has the key of %s", what, was)
		}
		seen[h] = what
	}
	other("more memory", func(m *machine) { m.memory++ })
	other("another machine", func(m *machine) { m.kind = "pc" })
	other("another accelerator", func(m *machine) { m.accel = "kvm" })
	other("another kernel or initramfs", func(m *machine) { m.files.Key = "other" })
	other("another command line", func(m *machine) { m.files.TemplateCmdline = []string{"loud"} })
	other("other libraries", func(m *machine) { m.qemu.Env = []string{"LD_LIBRARY_PATH=/x"} })
	other("a kernel that was cut short", func(*machine) { file("kernel", "") })
	other("another QEMU of the same size and time", func(m *machine) {
		st, err := os.Stat(m.qemu.Binary)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.Rename(file("new", "Q"), m.qemu.Binary); err != nil {
			t.Fatal(err)
		}
		if err := os.Chtimes(m.qemu.Binary, st.ModTime(), st.ModTime()); err != nil {
			t.Fatal(err)
		}
	})
}

func TestAProcessorIsKnownByWhatItCanDo(t *testing.T) {
	t.Parallel()
	const cpuinfo = "processor\t: 0\nvendor_id\t: X\nmodel name\t: One  Two\ncpu MHz\t\t: 2000.1\nflags\t\t: a b\nbogomips\t: 3\n\nprocessor\t: 1\nflags\t\t: c\n"
	if got, want := firstProcessor(cpuinfo), "vendor_id : X\nmodel name : One Two\nflags : a b"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}
