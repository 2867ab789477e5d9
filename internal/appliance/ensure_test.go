package appliance

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// fakeApt puts an apt in front of the real one that knows one kernel package, made here, and writes down what it was
// asked. knows is where it has package lists: "machine", "private" (only after an update of its own) or "".
func fakeApt(t *testing.T, knows string) (log string) {
	t.Helper()
	dir := t.TempDir()
	tree := filepath.Join(dir, "tree")
	for name, content := range map[string][]byte{
		"DEBIAN/control":                                   []byte("Package: linux-image-9.9-amd64\nVersion: 9.9.1\nArchitecture: amd64\nMaintainer: test <t@example.org>\nDescription: test\n"),
		"boot/vmlinuz-9.9-amd64":                           bzImage(elfKernel("Xen", pvhNote)),
		"lib/modules/9.9-amd64/modules.builtin":            nil,
		"lib/modules/9.9-amd64/kernel/virtio.ko":           moduleFile("depends="),
		"lib/modules/9.9-amd64/kernel/drivers/media/tv.ko": moduleFile("depends="),
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
		if err := os.WriteFile(filepath.Join(dir, name), []byte("#!/bin/sh\n"+script+"\n"), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	t.Setenv("KNOWS", knows)
	t.Setenv("LOG", log)
	t.Setenv("DEB", deb)
	t.Setenv("PATH", dir+":"+os.Getenv("PATH"))
	return log
}

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
	log := fakeApt(t, "machine")
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
	if got := read(t, g.Kernel); !strings.HasPrefix(got, string(elfKernel("Xen", pvhNote))) {
		t.Errorf("the kernel's stable name leads to %d bytes of something else", len(got))
	}
	files := []string{
		"initramfs -> initramfs-", "initramfs-KEY", "kernel -> kernel-linux-", "kernel-linux-image-9.9-", "lock",
	}
	if diff := cmp.Diff(files, listing(t, dir)); diff != "" {
		t.Errorf("cache (-want +got):\n%s", diff)
	}
	if media := filepath.Join(dir, "kernel-"+g.Version, "modules/kernel/drivers/media"); exists(media) {
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
	log := fakeApt(t, "private")
	if _, err := Ensure(t.Context(), Options{CacheDir: t.TempDir(), AgentPath: fakeAgent(t, "1")}); err != nil {
		t.Fatal(err)
	}
	if got := read(t, log); got != "--quiet update\n--quiet download linux-image-9.9-amd64=9.9.1\n" {
		t.Errorf("apt-get was asked:\n%s", got)
	}
}

func TestNewAgentMakesANewInitramfsAndKeepsTheKernel(t *testing.T) {
	log := fakeApt(t, "machine")
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
	log := fakeApt(t, "machine")
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
	fakeApt(t, "")
	dir := t.TempDir()
	_, err := Ensure(t.Context(), Options{CacheDir: dir, AgentPath: fakeAgent(t, "1")})
	if !errors.Is(err, ErrNoKernel) || !strings.Contains(fmt.Sprint(err), "is apt configured") {
		t.Errorf("got %v, want ErrNoKernel and a remedy", err)
	}
	if diff := cmp.Diff([]string{"lock"}, listing(t, dir)); diff != "" {
		t.Errorf("cache (-want +got):\n%s", diff)
	}
}

func TestKernelOfOnesOwnIsTakenAsItIs(t *testing.T) {
	t.Parallel()
	own := Kernel{Image: filepath.Join(t.TempDir(), "own"), Version: "own-1"}
	if err := os.WriteFile(own.Image, []byte("image"), 0o600); err != nil {
		t.Fatal(err)
	}
	g, err := Ensure(t.Context(), Options{CacheDir: t.TempDir(), AgentPath: fakeAgent(t, "1"), Kernel: own})
	if err != nil || read(t, g.Kernel) != "image" || g.Version != "own-1" {
		t.Errorf("got %+v, %v", g, err)
	}
}

func TestAgentThatIsNoProgramIsRefused(t *testing.T) {
	t.Parallel()
	script := filepath.Join(t.TempDir(), "agent")
	if err := os.WriteFile(script, []byte("#!/bin/sh\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{script, filepath.Join(t.TempDir(), "absent"), ""} {
		_, err := Ensure(t.Context(), Options{CacheDir: t.TempDir(), AgentPath: path, Kernel: Kernel{Image: "/x", Version: "1"}})
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
	if _, err := Ensure(t.Context(), Options{CacheDir: dir, AgentPath: fakeAgent(t, "1"), Kernel: Kernel{Image: "/x", Version: "1"}}); err != nil {
		t.Fatal(err)
	}
	if exists(filepath.Join(dir, ".new-123")) {
		t.Error("the folder of a killed process was kept")
	}
}

func TestWaitForAnotherProcessEndsWithTheContext(t *testing.T) {
	t.Parallel()
	c := cache{t.TempDir()}
	unlock, err := c.lock(t.Context(), func() { t.Error("nobody else holds the lock") })
	if err != nil {
		t.Fatal(err)
	}
	defer unlock()
	ctx, cancel := context.WithCancel(t.Context())
	_, err = c.lock(ctx, cancel)
	if !errors.Is(err, context.Canceled) || !strings.Contains(err.Error(), c.dir) {
		t.Errorf("got %v, want context.Canceled and the folder", err)
	}
}

func TestKernelPackageIsReadFromTheMetaPackage(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]kernelPackage{
		"Package: x\nDepends: linux-image-6.1.0-56-amd64 (= 6.1.192-2)\nDescription: y\n": {"linux-image-6.1.0-56-amd64", "6.1.192-2"},
		"Depends: a (>= 1), linux-image-6.12.5+deb13-amd64\n":                             {"linux-image-6.12.5+deb13-amd64", ""},
		"Depends: linux-base\n":                          {},
		"Recommends: linux-image-6.1.0-56-amd64 (= 1)\n": {},
	} {
		got, err := parseDepends([]byte(in))
		if got != want || (err == nil) != (want.name != "") {
			t.Errorf("%q: got %+v, %v, want %+v", in, got, err, want)
		}
	}
}
