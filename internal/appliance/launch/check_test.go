package launch

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"taproom/internal/appliance/build"
	"taproom/internal/appliance/launchtest"
	"taproom/internal/host"
)

// checker is a check that counts what it starts.
func checker(t *testing.T) (check func(build.Files) error, started func() int) {
	t.Helper()
	n := 0
	k := host.New(host.Options{Hook: func(call string) {
		if strings.HasPrefix(call, "process start") {
			n++
		}
	}})
	t.Cleanup(k.Close)
	c, err := Check(t.Context(), Spec{Kernel: k, Launcher: launchtest.Program(t, "taproom-launch")})
	if err != nil {
		t.Fatal(err)
	}
	return func(f build.Files) error { return c(t.Context(), f) }, func() int { return n }
}

func TestAKernelThatAnswersIsWhole(t *testing.T) {
	t.Parallel()
	check, started := checker(t)
	if err := check(launchtest.Files(t)); err != nil {
		t.Error(err)
	}
	if started() != 1 { // as all appliances are, which confines it and ends it with this process
		t.Errorf("%d processes were started, want QEMU by taproom-launch", started())
	}
}

func TestAKernelThatDoesNotBootIsRefusedWithWhatQEMUSays(t *testing.T) {
	t.Parallel()
	dir, err := os.MkdirTemp("", "check-") // where QEMU comes to as another user
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	f := build.Files{Kernel: filepath.Join(dir, "vmlinux"), Initrd: filepath.Join(dir, "initrd"), Own: true}
	for _, path := range []string{f.Kernel, f.Initrd} {
		if err := os.WriteFile(path, bytes.Repeat([]byte("no kernel\n"), 1000), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	check, _ := checker(t)
	err = check(f)
	if err == nil || !strings.Contains(err.Error(), "does not answer") || !strings.Contains(err.Error(), "too old") {
		t.Errorf("got %v, want what QEMU says", err)
	}
}

func TestWhatChecksAKernelIsMissedBeforeOneIsBuilt(t *testing.T) {
	s := Spec{Launcher: launchtest.Program(t, "taproom-launch")} // which may have to be built
	t.Setenv("PATH", "")
	if _, err := Check(t.Context(), s); err == nil || !strings.Contains(err.Error(), "install qemu-system-x86") {
		t.Errorf("got %v, want that QEMU is missing", err)
	}
}
