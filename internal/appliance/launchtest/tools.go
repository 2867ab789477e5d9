package launchtest

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// Tools makes a disk of tools that has one program, tool, and returns its path.
func Tools(t testing.TB) string {
	t.Helper()
	root := t.TempDir()
	for _, dir := range []string{"bin", "dev", "proc", "sys", "run", "tmp", "sysroot", "etc"} {
		if err := os.Mkdir(filepath.Join(root, dir), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(root, "etc/machine-id"), nil, 0o444); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("/run/resolv.conf", filepath.Join(root, "etc/resolv.conf")); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "tools")
	for _, args := range [][]string{
		{"go", "build", "-trimpath", "-o", filepath.Join(root, "bin/tool"), "taproom/internal/appliance/inside/toolstest"},
		{"mksquashfs", root, path, "-quiet", "-no-progress", "-noI", "-noD", "-noF"},
	} {
		c := exec.Command(args[0], args[1:]...)
		c.Env = append(os.Environ(), "CGO_ENABLED=0")
		if out, err := c.CombinedOutput(); err != nil {
			t.Fatalf("%q: %v\n%s", args, err, out)
		}
	}
	return path
}
