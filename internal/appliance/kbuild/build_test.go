package kbuild

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"

	"taproom/internal/appliance/cache"
	"taproom/internal/appliance/kernel/kerneltest"
	"taproom/internal/host/hosttest"
)

// works is the Makefile of a source that builds: its kernel holds the environment, so that the tests see what reaches it.
const works = `
tinyconfig:
	@echo CONFIG_TINY=y >$(O)/.config
olddefconfig:
	@grep -v CONFIG_UNKNOWN $(O)/.config >$(O)/new; mv $(O)/new $(O)/.config
vmlinux:
	@for i in 1 2 3 4; do echo "  CC $$i"; done
	@{ cat kernel; env | grep -v -e ^PWD -e ^O= -e ^MAKE -e ^MFLAGS -e ^_ -e ^PATH -e ^HOME -e ^SHLVL -e ^OLDPWD -e ^TMPDIR | sort; } >$(O)/vmlinux
`

// fakeSource puts programs in front of the machine's that know one package: a source with this Makefile.
func fakeSource(t *testing.T, makefile string) {
	t.Helper()
	dir := t.TempDir()
	write := func(name string, content []byte, mode os.FileMode) {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, content, mode); err != nil {
			t.Fatal(err)
		}
	}
	write("linux-source-6.12/Makefile", []byte(makefile), 0o644)
	write("linux-source-6.12/kernel", kerneltest.ELF("Xen", kerneltest.PVHNote), 0o644)
	write("deb/DEBIAN/control", []byte("Package: linux-source-6.12\nVersion: 6.12.9-1\nArchitecture: all\nMaintainer: test <t@example.org>\nDescription: test\n"), 0o644)
	if err := os.MkdirAll(filepath.Join(dir, "deb/usr/src"), 0o755); err != nil {
		t.Fatal(err)
	}
	for _, c := range [][]string{
		{"tar", "-C", dir, "-cJf", filepath.Join(dir, "deb/usr/src/linux-source-6.12.tar.xz"), "linux-source-6.12"},
		{"dpkg-deb", "--root-owner-group", "--build", filepath.Join(dir, "deb"), filepath.Join(dir, "source.deb")},
	} {
		if out, err := exec.Command(c[0], c[1:]...).CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
	}
	write("bin/compiler", []byte("gcc 12\n"), 0o644)
	for name, script := range map[string]string{
		"apt-cache": `echo "Package: linux-source-6.12"; echo "Version: 6.12.9-1"`,
		"apt-get":   `cp ` + filepath.Join(dir, "source.deb") + ` .`,
		"gcc":       `case "$1" in --version) cat ` + filepath.Join(dir, "bin/compiler") + `;; esac`,
		"ld":        `echo "ld 1"`,
		"strip":     `cp "$4" "$3"`,
		"flex":      "", "bison": "", "bc": "",
	} {
		if err := hosttest.WriteProgram(filepath.Join(dir, "bin", name), []byte("#!/bin/sh\n"+script+"\n")); err != nil {
			t.Fatal(err)
		}
	}
	t.Setenv("PATH", filepath.Join(dir, "bin")+":"+os.Getenv("PATH"))
	t.Setenv("CFLAGS", "-O0 of the caller")
}

func testCache(t *testing.T) cache.Folder {
	t.Helper()
	c, err := cache.Open(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func testConfig(fragment string) Config {
	return Config{Name: "test", Fragment: []byte(fragment), steps: 4}
}

func accept(context.Context, string) error { return nil }

func TestKernelIsBuiltOnceFromFixedInputs(t *testing.T) {
	fakeSource(t, works)
	c, config := testCache(t), testConfig("CONFIG_A=y\nCONFIG_B=n\n")
	if _, found := Find(c, config); found {
		t.Error("a kernel was found before one was built")
	}
	var said []string
	checked := 0
	o := Options{Jobs: 2, Progress: func(what string) { said = append(said, what) }, Check: func(_ context.Context, image string) error {
		checked++
		if _, found := Find(c, config); found {
			t.Error("the kernel had its name before it was checked")
		}
		_, err := os.Stat(image)
		return err
	}}
	k, err := Build(t.Context(), c, config, o)
	if err != nil {
		t.Fatal(err)
	}
	steps := []string{
		"downloading linux-source-6.12 6.12.9-1", "unpacking linux-source-6.12", "configuring the kernel",
		"compiling the kernel: 25 %", "compiling the kernel: 50 %", "compiling the kernel: 75 %", "compiling the kernel: 99 %",
		"booting the kernel to check it",
	}
	if diff := cmp.Diff(steps, said); diff != "" {
		t.Errorf("progress (-want +got):\n%s", diff)
	}
	content, err := os.ReadFile(k.Image)
	if err != nil {
		t.Fatal(err)
	}
	_, env, _ := strings.Cut(string(content), "KBUILD_BUILD_HOST")
	wantEnv := "=taproom\nKBUILD_BUILD_TIMESTAMP=1970-01-01 00:00:00 UTC\nKBUILD_BUILD_USER=taproom\nKBUILD_BUILD_VERSION=1\nLC_ALL=C\nTZ=UTC\n"
	if diff := cmp.Diff(wantEnv, env); diff != "" {
		t.Errorf("the build's environment (-want +got):\n%s", diff)
	}
	if found, ok := Find(c, config); !ok || found != k {
		t.Errorf("found %+v, %v, want %+v", found, ok, k)
	}
	said = nil
	if again, err := Build(t.Context(), c, config, o); err != nil || again != k || len(said) != 0 || checked != 1 {
		t.Errorf("the second time: %+v, %v, saying %q, checked %d times", again, err, said, checked)
	}
	o.Force = true
	o.Check = accept
	if again, err := Build(t.Context(), c, config, o); err != nil || again != k || len(said) == 0 {
		t.Errorf("by force: %+v, %v, saying %q", again, err, said)
	}
	list := List(c)
	if len(list) != 1 || list[0].Source != "linux-source-6.12 6.12.9-1" || list[0].Compiler != "gcc 12; ld 1" || list[0].Bytes != int64(len(content)) {
		t.Errorf("listed: %+v", list)
	}
	if left, _ := filepath.Glob(filepath.Join(c.Dir(), "own/.new-*")); len(left) != 0 {
		t.Errorf("left behind: %q", left)
	}
}

func TestAKeptKernelCanBeReadAndUserModeLinuxExecuted(t *testing.T) { // not parallel: it changes the umask
	defer unix.Umask(unix.Umask(0o077))
	dir := t.TempDir()
	image, settings := filepath.Join(dir, "vmlinux"), filepath.Join(dir, "settings")
	for path, b := range map[string][]byte{image: kerneltest.ELF("Xen", kerneltest.PVHNote), settings: nil} {
		if err := os.WriteFile(path, b, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for arch, want := range map[string]os.FileMode{"": 0o644, "um": 0o755} {
		fresh := filepath.Join(dir, "kept"+arch)
		if err := new(Manifest).keep(image, settings, fresh, Config{Name: "test", arch: arch}); err != nil {
			t.Fatal(err)
		}
		for name, want := range map[string]os.FileMode{imageName: want, configName: 0o644, manifestName: 0o644} {
			if info, err := os.Stat(filepath.Join(fresh, name)); err != nil || info.Mode() != want {
				t.Errorf("arch %q: %s: %v, %v, want %v", arch, name, info.Mode(), err, want)
			}
		}
	}
}

func TestOtherInputsMakeAnotherKernel(t *testing.T) {
	fakeSource(t, works)
	c := testCache(t)
	first, err := Build(t.Context(), c, testConfig("CONFIG_A=y\n"), Options{Check: accept})
	if err != nil {
		t.Fatal(err)
	}
	second, err := Build(t.Context(), c, testConfig("CONFIG_B=y\n"), Options{Check: accept})
	if err != nil || second == first {
		t.Errorf("another configuration: %+v, %v", second, err)
	}
	gcc, err := exec.LookPath("gcc")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(filepath.Dir(gcc), "compiler"), []byte("gcc 13\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	third, err := Build(t.Context(), c, testConfig("CONFIG_A=y\n"), Options{Check: accept})
	if err != nil || third == first {
		t.Errorf("another compiler: %+v, %v", third, err)
	}
	if found, ok := Find(c, testConfig("CONFIG_A=y\n")); !ok || found != third {
		t.Errorf("found %+v, want the newest, %+v", found, third)
	}
	if list := List(c); len(list) != 3 {
		t.Errorf("listed: %+v, want three kernels", list)
	}
}

func TestFailuresSayWhyAndLeaveNothing(t *testing.T) {
	for _, c := range []struct {
		name, makefile, fragment, want string
		check                          error
	}{
		{name: "option unknown", makefile: works, fragment: "CONFIG_UNKNOWN=y\n", want: `CONFIG_UNKNOWN is "", want "y"`},
		{name: "no compilation", makefile: works + "\nvmlinux: broken\nbroken:\n\t@echo such a mess >&2; exit 1\n", want: "such a mess"},
		{name: "disk full", makefile: works + "\nvmlinux: full\nfull:\n\t@echo 'cannot write x: No space left on device' >&2; exit 1\n", want: "make room"},
		{name: "no boot", makefile: works, check: errors.New("it says nothing"), want: "does not work: it says nothing"},
	} {
		t.Run(c.name, func(t *testing.T) {
			fakeSource(t, c.makefile)
			folder := testCache(t)
			_, err := Build(t.Context(), folder, testConfig(c.fragment), Options{Check: func(context.Context, string) error { return c.check }})
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v, want %q", err, c.want)
			}
			left, _ := filepath.Glob(filepath.Join(folder.Dir(), "own/*"))
			hidden, _ := filepath.Glob(filepath.Join(folder.Dir(), "own/.new-*"))
			if want := []string{filepath.Join(folder.Dir(), "own/lock")}; !slices.Equal(append(left, hidden...), want) {
				t.Errorf("left behind: %q %q", left, hidden)
			}
		})
	}
}

func TestCancellationEndsWhatMakeStarted(t *testing.T) {
	fakeSource(t, works+"\nvmlinux: slow\nslow:\n\t@echo $$$$ >$(O)/../../pid; echo go; sleep 600 & wait\n")
	c := testCache(t)
	ctx, cancel := context.WithCancel(t.Context())
	o := Options{Check: accept, Progress: func(what string) {
		if strings.HasPrefix(what, "compiling") {
			cancel()
		}
	}}
	if _, err := Build(ctx, c, testConfig(""), o); !errors.Is(err, context.Canceled) {
		t.Fatalf("got %v, want context.Canceled", err)
	}
	b, err := os.ReadFile(filepath.Join(c.Dir(), "own/pid"))
	if err != nil {
		t.Fatal(err)
	}
	pid, err := strconv.Atoi(strings.TrimSpace(string(b)))
	if err != nil {
		t.Fatal(err)
	}
	again := time.NewTicker(10 * time.Millisecond)
	defer again.Stop()
	for deadline := time.Now().Add(time.Minute); unix.Kill(pid, 0) == nil && alive(pid); <-again.C {
		if time.Now().After(deadline) {
			t.Fatalf("process %d still runs", pid)
		}
	}
}

// alive is false for a process that only its parent has not heard of.
func alive(pid int) bool {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	return err == nil && !strings.Contains(string(b), ") Z ")
}

func TestMissingProgramsAreNamedByTheirPackages(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	_, err := Build(t.Context(), testCache(t), Appliance(), Options{Check: accept})
	var missing *MissingError
	if !errors.As(err, &missing) || !slices.Contains(missing.Packages, "flex") || !strings.Contains(err.Error(), "install gcc binutils make") {
		t.Errorf("got %v, want the packages to install", err)
	}
}

func TestSourceThatCannotBeHadIsAnErrorOfItsOwn(t *testing.T) {
	fakeSource(t, works)
	apt, err := exec.LookPath("apt-cache")
	if err != nil {
		t.Fatal(err)
	}
	if err := hosttest.WriteProgram(apt, []byte("#!/bin/sh\nexit 100\n")); err != nil {
		t.Fatal(err)
	}
	_, err = Build(t.Context(), testCache(t), Appliance(), Options{Check: accept})
	if !errors.Is(err, ErrNoSource) || !strings.Contains(err.Error(), "is apt configured") {
		t.Errorf("got %v, want ErrNoSource and a remedy", err)
	}
}

func TestOurFragmentsAgreeWithThemselves(t *testing.T) {
	t.Parallel()
	for name, fragment := range map[string][]byte{"appliance": applianceFragment, "guest": guestFragment} {
		seen := map[string]bool{}
		for line := range strings.Lines(string(fragment)) {
			option, _, found := strings.Cut(line, "=")
			if found && seen[option] {
				t.Errorf("%s: %s is set twice", name, option)
			}
			seen[option] = true
		}
	}
	for _, config := range []Config{Appliance(), Guest()} {
		if err := config.check(config.Fragment); err != nil {
			t.Errorf("%s does not agree with itself: %v", config.Name, err)
		}
	}
	// What the guest has of its own comes last, and wins.
	if err := Guest().check(append(slices.Clone(applianceFragment), guestFragment...)); err != nil {
		t.Error(err)
	}
	if err := Guest().check(applianceFragment); err == nil || !strings.Contains(err.Error(), `CONFIG_SMP is "", want "y"`) {
		t.Errorf("a configuration that lacks the guest's part: %v", err)
	}
}
