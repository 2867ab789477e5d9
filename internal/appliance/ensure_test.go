package appliance

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"taproom/internal/appliance/cache"
	"taproom/internal/appliance/kbuild"
	"taproom/internal/appliance/kbuild/kbuildtest"
	"taproom/internal/appliance/kernel"
	"taproom/internal/appliance/kernel/kerneltest"
)

func read(t *testing.T, path string) string {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		t.Fatal(err)
	}
	return string(b)
}

// fakeAgent is a file that passes for a program.
func fakeAgent(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "agent")
	if err := os.WriteFile(path, []byte("\x7fELF"+text), 0o755); err != nil {
		t.Fatal(err)
	}
	return path
}

// listing is what is in a cache, with symbolic links resolved once.
func listing(t *testing.T, dir string) []string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var list []string
	for _, e := range entries {
		line := e.Name()
		if to, err := os.Readlink(filepath.Join(dir, line)); err == nil {
			line += " -> " + to
		}
		if key, found := strings.CutPrefix(line, "initramfs-"); found && len(key) == 16 {
			line = "initramfs-KEY"
		}
		list = append(list, line[:min(len(line), len("initramfs -> initramfs-"))])
	}
	return list
}

func TestGuestIsFetchedOnceAndThenFoundWithoutAnyProgram(t *testing.T) {
	log := kerneltest.FakeApt(t, "machine")
	dir := filepath.Join(t.TempDir(), "a/b")
	o := Options{CacheDir: dir, AgentPath: fakeAgent(t, "1")}
	var said []string
	o.Progress = func(what string) { said = append(said, what) }
	g, err := Ensure(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	want := Guest{
		Kernel: filepath.Join(dir, "kernel"), Initrd: filepath.Join(dir, "initramfs"), Cmdline: CommandLine(),
		Version: "linux-image-9.9-amd64_9.9.1",
	}
	if diff := cmp.Diff(want, g); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if got := read(t, g.Kernel); !strings.HasPrefix(got, string(kerneltest.ELF("Xen", kerneltest.PVHNote))) {
		t.Errorf("the kernel's stable name leads to %d bytes of something else", len(got))
	}
	files := []string{
		"initramfs -> initramfs-", "initramfs-KEY", "kernel -> kernel-linux-", "kernel-linux-image-9.9-", "lock",
	}
	if diff := cmp.Diff(files, listing(t, dir)); diff != "" {
		t.Errorf("cache (-want +got):\n%s", diff)
	}
	if media := filepath.Join(dir, "kernel-"+g.Version, "modules/kernel/drivers/media"); cache.Exists(media) {
		t.Error("modules of television cards were kept")
	}
	if got := read(t, log); got != "--quiet download linux-image-9.9-amd64=9.9.1\n" {
		t.Errorf("apt-get was asked:\n%s", got)
	}
	steps := []string{"downloading linux-image-9.9-amd64", "unpacking linux-image-9.9-amd64", "building the guest's initramfs"}
	if diff := cmp.Diff(steps, said); diff != "" {
		t.Errorf("progress (-want +got):\n%s", diff)
	}
	t.Setenv("PATH", "")
	said = nil
	if again, err := Ensure(t.Context(), o); err != nil || again != g || len(said) != 0 {
		t.Errorf("the second time: %+v, %v, saying %q", again, err, said)
	}
}

func TestMachineWithoutPackageListsGetsListsOfItsOwn(t *testing.T) {
	log := kerneltest.FakeApt(t, "private")
	if _, err := Ensure(t.Context(), Options{CacheDir: t.TempDir(), AgentPath: fakeAgent(t, "1")}); err != nil {
		t.Fatal(err)
	}
	if got := read(t, log); got != "--quiet update\n--quiet download linux-image-9.9-amd64=9.9.1\n" {
		t.Errorf("apt-get was asked:\n%s", got)
	}
}

func TestNewAgentMakesANewInitramfsAndKeepsTheKernel(t *testing.T) {
	log := kerneltest.FakeApt(t, "machine")
	dir := t.TempDir()
	for _, agent := range []string{"1", "2"} {
		g, err := Ensure(t.Context(), Options{CacheDir: dir, AgentPath: fakeAgent(t, agent)})
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Contains([]byte(read(t, g.Initrd)), []byte("\x7fELF"+agent)) {
			t.Errorf("the initramfs does not hold agent %s", agent)
		}
	}
	if got := strings.Count(read(t, log), "download"); got != 1 {
		t.Errorf("%d downloads, want one", got)
	}
	if got := len(listing(t, dir)); got != 5 {
		t.Errorf("the old initramfs was kept: %q", listing(t, dir))
	}
}

func TestManyAtOnceFetchOnce(t *testing.T) {
	log := kerneltest.FakeApt(t, "machine")
	o := Options{CacheDir: t.TempDir(), AgentPath: fakeAgent(t, "1")}
	guests, errs := make([]Guest, 8), make([]error, 8)
	var tasks sync.WaitGroup
	for i := range guests {
		tasks.Go(func() { guests[i], errs[i] = Ensure(t.Context(), o) })
	}
	tasks.Wait()
	if err := errors.Join(errs...); err != nil {
		t.Fatal(err)
	}
	if slices.ContainsFunc(guests, func(g Guest) bool { return g != guests[0] }) {
		t.Errorf("they got different guests: %+v", guests)
	}
	if got := strings.Count(read(t, log), "download"); got != 1 {
		t.Errorf("%d downloads, want one", got)
	}
}

func TestFailureSaysWhatToDoAndLeavesNothing(t *testing.T) {
	kerneltest.FakeApt(t, "")
	dir := t.TempDir()
	_, err := Ensure(t.Context(), Options{CacheDir: dir, AgentPath: fakeAgent(t, "1")})
	if !errors.Is(err, kernel.ErrNoKernel) || !strings.Contains(fmt.Sprint(err), "is apt configured") {
		t.Errorf("got %v, want ErrNoKernel and a remedy", err)
	}
	if diff := cmp.Diff([]string{"lock"}, listing(t, dir)); diff != "" {
		t.Errorf("cache (-want +got):\n%s", diff)
	}
}

func TestKernelOfOnesOwnIsTakenAsItIs(t *testing.T) {
	t.Parallel()
	own := kernel.Kernel{Image: filepath.Join(t.TempDir(), "own"), Version: "own-1"}
	if err := os.WriteFile(own.Image, []byte("image"), 0o600); err != nil {
		t.Fatal(err)
	}
	g, err := Ensure(t.Context(), Options{CacheDir: t.TempDir(), AgentPath: fakeAgent(t, "1"), Kernel: own})
	if err != nil || read(t, g.Kernel) != "image" || g.Version != "own-1" {
		t.Errorf("got %+v, %v", g, err)
	}
}

func TestKernelOfOurConfigurationIsTakenWhereItWasBuilt(t *testing.T) {
	log := kerneltest.FakeApt(t, "machine")
	o := Options{CacheDir: t.TempDir(), AgentPath: fakeAgent(t, "1")}
	if g, err := Ensure(t.Context(), o); err != nil || !strings.HasPrefix(g.Version, "linux-image") {
		t.Fatalf("before it was built: %+v, %v", g, err)
	}
	kbuildtest.Pretend(t, o.CacheDir, kbuild.Guest(), "our own")
	g, err := Ensure(t.Context(), o)
	if err != nil || read(t, g.Kernel) != "our own" || !strings.HasPrefix(g.Version, "guest-") {
		t.Errorf("got %+v, %v", g, err)
	}
	if got := strings.Count(read(t, log), "download"); got != 1 {
		t.Errorf("%d downloads, want one", got)
	}
}

func TestAgentThatIsNoProgramIsRefused(t *testing.T) {
	t.Parallel()
	script := filepath.Join(t.TempDir(), "agent")
	if err := os.WriteFile(script, []byte("#!/bin/sh\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{script, filepath.Join(t.TempDir(), "absent"), ""} {
		_, err := Ensure(t.Context(), Options{CacheDir: t.TempDir(), AgentPath: path, Kernel: kernel.Kernel{Image: "/x", Version: "1"}})
		if err == nil || !strings.Contains(err.Error(), "agent") {
			t.Errorf("%q: got %v, want an error about the agent", path, err)
		}
	}
}

func TestWhatAKilledProcessLeftIsSweptAndADamagedKernelIsReported(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for _, name := range []string{".new-123/deb", "kernel-1"} {
		if err := os.MkdirAll(filepath.Join(dir, name), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	_, err := Ensure(t.Context(), Options{CacheDir: dir, AgentPath: fakeAgent(t, "1")})
	if err == nil || !strings.Contains(err.Error(), "remove "+filepath.Join(dir, "kernel-1")) {
		t.Errorf("damaged kernel: %v, want the remedy", err)
	}
	if _, err := Ensure(t.Context(), Options{CacheDir: dir, AgentPath: fakeAgent(t, "1"), Kernel: kernel.Kernel{Image: "/x", Version: "1"}}); err != nil {
		t.Fatal(err)
	}
	if cache.Exists(filepath.Join(dir, ".new-123")) {
		t.Error("the folder of a killed process was kept")
	}
}
