package qemu

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"

	"taproom/internal/host"
	"taproom/internal/host/hosttest"
	"taproom/internal/qemu/emutest"
)

// counted is a prober and the number of processes it started.
func counted(t *testing.T, cache string) (*Prober, func() int) {
	t.Helper()
	var mu sync.Mutex
	starts := 0
	k := host.New(host.Options{Hook: func(call string) {
		mu.Lock()
		defer mu.Unlock()
		if strings.HasPrefix(call, "process start") {
			starts++
		}
	}})
	p := &Prober{
		Timeout: 4 * emutest.Patience(), // for a machine that is busy
		Kernel:  k, Launcher: launcher(t), Confinement: Confinement{UID: testUID, GID: testUID}, CacheDir: cache, RunDir: t.TempDir(),
		Env: func(binary string) (env, firmware []string) {
			for _, e := range emulators(t) {
				if e.binary == binary {
					return e.env, e.firmware
				}
			}
			return nil, nil
		},
	}
	t.Cleanup(func() {
		if left, err := os.ReadDir(p.RunDir); err != nil || len(left) > 0 {
			t.Errorf("the probe left %v, %v", left, err)
		}
	})
	return p, func() int { mu.Lock(); defer mu.Unlock(); return starts }
}

func TestProbeFindsWhatGuestsNeed(t *testing.T) {
	t.Parallel()
	for _, e := range emulators(t) {
		t.Run(e.name, func(t *testing.T) {
			t.Parallel()
			p, _ := counted(t, "")
			c, err := p.Probe(t.Context(), e.binary)
			if err != nil {
				t.Fatal(err)
			}
			if c.Arch != "x86_64" || !c.Sandbox || !slices.Equal(c.Accels, []string{"kvm", "tcg", "xen"}) && !slices.Equal(c.Accels, []string{"kvm", "tcg"}) {
				t.Errorf("arch %q, sandbox %v, accelerators %q", c.Arch, c.Sandbox, c.Accels)
			}
			for alias, prefix := range map[string]string{"pc": "pc-i440fx-", "q35": "pc-q35-"} {
				m, ok := c.Machine(alias)
				same, _ := c.Machine(m.Name)
				if !ok || !strings.HasPrefix(m.Name, prefix) || m.CPUMax < 255 || m != same {
					t.Errorf("machine %s: got %+v, and by its name %+v", alias, m, same)
				}
			}
			if m, ok := c.DefaultMachine(); !ok || m.Alias != "pc" {
				t.Errorf("default machine: got %+v", m)
			}
			for _, d := range []string{"virtio-net-pci", "virtio-blk-pci", "e1000", "e1000e", "rtl8139", "VGA", "pvpanic", "scsi-hd"} {
				if !c.HasDevice(d) {
					t.Errorf("no device %s among %d", d, len(c.Devices))
				}
			}
			if c.HasDevice("nonsense") || !c.HasObject("rng-random") || c.HasObject("virtio-net-pci") || !c.HasCommand("blockdev-add") {
				t.Errorf("objects %q, %d commands", c.Objects, len(c.Commands))
			}
			i := slices.IndexFunc(c.CPUs["tcg"], func(m CPU) bool { return m.Name == "qemu64" })
			if i < 0 || !slices.IsSortedFunc(c.CPUs["tcg"], func(a, b CPU) int { return strings.Compare(a.Name, b.Name) }) {
				t.Errorf("CPU models: %+v", c.CPUs)
			}
			consists := map[string]CPUDefinition{}
			for _, d := range c.Definitions["tcg"] {
				consists[d.Name] = d
			}
			_, versions := consists["EPYC-v1"]
			_, svm := slices.BinarySearch(consists["EPYC"].Features, "svm")
			if whole := consists["max"]; len(whole.Features) < 50 || whole.Vendor == "" || !svm || consists["EPYC"].Vendor != "AuthenticAMD" || versions {
				t.Errorf("processors consist of %+v", consists)
			}
		})
	}
}

func TestProbeRunsABinaryOnceUntilItChanges(t *testing.T) {
	t.Parallel()
	cache := filepath.Join(t.TempDir(), "cache")
	// The emulator stays, its path is ours to change.
	genuine := emulators(t)[0].binary
	dir := t.TempDir()
	binary := filepath.Join(dir, "qemu-system-x86_64")
	script := func(comment string) {
		text := "#!/bin/sh\n# " + comment + "\nexec " + genuine + ` "$@"` + "\n"
		if err := errors.Join(os.Chmod(filepath.Dir(dir), 0o755), os.Chmod(dir, 0o755), hosttest.WriteProgram(binary, []byte(text))); err != nil {
			t.Fatal(err)
		}
	}
	script("first")
	p, starts := counted(t, cache)
	probe := func(p *Prober) *Capabilities {
		t.Helper()
		c, err := p.Probe(t.Context(), binary)
		if err != nil {
			t.Fatal(err)
		}
		return c
	}
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() { probe(p) })
	}
	wg.Wait()
	first := probe(p)
	if n := starts(); n != 1 {
		t.Errorf("nine requests ran the binary %d times, want once", n)
	}
	again, startsAgain := counted(t, cache)
	if d := cmp.Diff(first, probe(again)); d != "" || startsAgain() != 0 {
		t.Errorf("from disk: %d runs (-first +again):\n%s", startsAgain(), d)
	}
	script("second, and longer")
	changed, startsChanged := counted(t, cache)
	if probe(changed); startsChanged() != 1 {
		t.Errorf("a binary that changed was run %d times, want once", startsChanged())
	}
	files, err := filepath.Glob(filepath.Join(cache, "*"))
	if err != nil || len(files) != 1 {
		t.Fatalf("cache files: %q, %v", files, err)
	}
	b, err := os.ReadFile(files[0])
	if err != nil {
		t.Fatal(err)
	}
	for name, damaged := range map[string]string{
		"truncated": string(b[:len(b)/2]), "empty": "", "one letter": strings.Replace(string(b), "virtio-net-pci", "virtio-nit-pci", 1),
	} {
		if err := os.WriteFile(files[0], []byte(damaged), 0o600); err != nil {
			t.Fatal(err)
		}
		fresh, starts := counted(t, cache)
		if d := cmp.Diff(first, probe(fresh)); d != "" || starts() != 1 {
			t.Errorf("%s cache: %d runs, want one (-want +got):\n%s", name, starts(), d)
		}
	}
}

// What QEMU says is the distribution's 7.2 and 10.0 (vl.c), where it was built without seccomp.
func TestGuestsHaveNoSandboxOnlyWhereQEMUHasNone(t *testing.T) {
	t.Parallel()
	genuine := emulators(t)[0].binary
	for says, without := range map[string]bool{
		"-sandbox support is not enabled in this QEMU binary": true,
		"no memory": false,
	} {
		t.Run(says, func(t *testing.T) {
			t.Parallel()
			binary := filepath.Join(filepath.Dir(ownedFile(t, "x")), "qemu")
			text := "#!/bin/sh\ncase \" $* \" in *' -sandbox '*) echo '" + says + "' >&2; exit 1;; esac\nexec " + genuine + ` "$@"` + "\n"
			if err := hosttest.WriteProgram(binary, []byte(text)); err != nil {
				t.Fatal(err)
			}
			p, _ := counted(t, "")
			c, err := p.Probe(t.Context(), binary)
			switch {
			case without && (err != nil || c.Sandbox):
				t.Errorf("got %+v, %v, want that it has none", c, err)
			case !without && !errors.Is(err, ErrDied):
				t.Errorf("got %v, want %v", err, ErrDied)
			}
		})
	}
}

// The kernel ends a process that is tied to its parent with the thread that forked it.
func TestAProbeOutlivesThreadsThatEnd(t *testing.T) {
	t.Parallel()
	binary := emulators(t)[0].binary
	stop := make(chan struct{})
	var ending sync.WaitGroup
	ending.Go(func() {
		for {
			select {
			case <-stop:
				return
			default:
			}
			var threads sync.WaitGroup
			for range 8 {
				threads.Go(func() { // as who enters a namespace for good
					runtime.LockOSThread()
					if unix.Gettid() == os.Getpid() {
						runtime.UnlockOSThread()
					}
					<-time.After(time.Millisecond) // all of them at once, so that each is a thread of its own
				})
			}
			threads.Wait()
		}
	})
	defer ending.Wait()
	defer close(stop)
	for range 5 {
		p, _ := counted(t, "")
		if _, err := p.Probe(t.Context(), binary); err != nil {
			t.Fatal(err)
		}
	}
}

func TestProbeOfABadBinaryIsTyped(t *testing.T) {
	t.Parallel()
	write := func(t *testing.T, mode fs.FileMode, text string) string {
		path := filepath.Join(filepath.Dir(ownedFile(t, "x")), "qemu")
		if err := errors.Join(hosttest.WriteProgram(path, []byte(text)), os.Chmod(path, mode)); err != nil {
			t.Fatal(err)
		}
		return path
	}
	cases := []struct {
		name   string
		want   error
		says   string
		binary func(t *testing.T) string
	}{
		{"missing", ErrBinary, "no such file", func(*testing.T) string { return "/usr/bin/qemu-system-none" }},
		{"directory", ErrBinary, "it is no file", func(*testing.T) string { return "/usr/bin" }},
		{"not executable", ErrBinary, "it is not executable: chmod +x", func(t *testing.T) string { return write(t, 0o644, "x") }},
		{"dies", ErrDied, "no library", func(t *testing.T) string { return write(t, 0o755, "#!/bin/sh\necho no library >&2; exit 127") }},
		{"hangs", ErrSilent, "did not answer", func(t *testing.T) string { return write(t, 0o755, "#!/bin/sh\nkill -STOP $$") }},
		{"does not speak QMP", ErrSilent, "not a QMP message", func(t *testing.T) string {
			return write(t, 0o755, "#!/usr/bin/python3\nimport socket\nc,_=socket.socket(fileno=4).accept()\nc.sendall(b'hello\\n')\nc.recv(1)\n")
		}},
	}
	for _, tc := range cases {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			p, _ := counted(t, filepath.Join(t.TempDir(), "cache"))
			timeout := emutest.Patience()
			if tc.name == "hangs" {
				timeout /= 6 // enough for an emulated machine to come that far
			}
			ctx, cancel := context.WithTimeout(t.Context(), timeout)
			defer cancel()
			c, err := p.Probe(ctx, tc.binary(t))
			var typed *StartError
			if !errors.Is(err, tc.want) || !errors.As(err, &typed) || !strings.Contains(err.Error(), tc.says) || c != nil {
				t.Errorf("got %v, %v; want %v that says %q", c, err, tc.want, tc.says)
			}
			if left, _ := os.ReadDir(p.CacheDir); len(left) > 0 {
				t.Errorf("a failed probe was kept: %v", left)
			}
		})
	}
}
