package kerneltest

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"taproom/internal/host/hosttest"
)

// FakeApt puts an apt in front of the real one that knows one kernel package, made here, and writes down what it was
// asked. knows is where it has package lists: "machine", "private" (only after an update of its own) or "".
func FakeApt(t *testing.T, knows string) (log string) {
	t.Helper()
	dir := t.TempDir()
	tree := filepath.Join(dir, "tree")
	for name, content := range map[string][]byte{
		"DEBIAN/control":                                   []byte("Package: linux-image-9.9-amd64\nVersion: 9.9.1\nArchitecture: amd64\nMaintainer: test <t@example.org>\nDescription: test\n"),
		"boot/vmlinuz-9.9-amd64":                           BzImage(ELF("Xen", PVHNote)),
		"lib/modules/9.9-amd64/modules.builtin":            nil,
		"lib/modules/9.9-amd64/kernel/virtio.ko":           ModuleFile("depends="),
		"lib/modules/9.9-amd64/kernel/drivers/media/tv.ko": ModuleFile("depends="),
	} {
		path := filepath.Join(tree, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, content, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	deb := filepath.Join(dir, "kernel.deb")
	if out, err := exec.Command("dpkg-deb", "--root-owner-group", "--build", tree, deb).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	log = filepath.Join(dir, "log")
	scripts := map[string]string{
		"apt-cache": `case "$KNOWS $*" in
machine*|private*Dir::State::lists*) echo "Depends: linux-image-9.9-amd64 (= 9.9.1)";;
*) echo "E: No packages found" >&2; exit 100;; esac`,
		"apt-get": `echo "$*" | sed 's/-o [^ ]* //g' >>"$LOG"
case "$*" in *download*) cp "$DEB" ./linux-image.deb;; esac`,
	}
	for name, script := range scripts {
		if err := hosttest.WriteProgram(filepath.Join(dir, name), []byte("#!/bin/sh\n"+script+"\n")); err != nil {
			t.Fatal(err)
		}
	}
	t.Setenv("KNOWS", knows)
	t.Setenv("LOG", log)
	t.Setenv("DEB", deb)
	t.Setenv("PATH", dir+":"+os.Getenv("PATH"))
	return log
}
