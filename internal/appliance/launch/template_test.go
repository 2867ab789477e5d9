package launch

import (
	"bytes"
	"crypto/sha256"
	"io"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"golang.org/x/sys/unix"

	"taproom/internal/qemu/emutest"
)

// launched is an appliance that is closed with the test.
func launched(t testing.TB, l *Launcher) *Appliance {
	t.Helper()
	if way, _ := l.Way(); way != WayTemplate { // clones do not boot
		defer emutest.Boot(t)()
	}
	a, err := l.Launch(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { closed(t, a) })
	return a
}

func sum(t testing.TB, f *os.File) string {
	t.Helper()
	h := sha256.New()
	if _, err := io.Copy(h, io.NewSectionReader(f, 0, 1<<40)); err != nil {
		t.Fatal(err)
	}
	return string(h.Sum(nil))
}

// spoilt puts a file in the place of a template that was cut short.
func spoilt(t *testing.T, s Spec) {
	t.Helper()
	s.Way = WayCold // finds out the same, and makes no template
	l, err := Open(t.Context(), s)
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := l.Close(); err != nil {
			t.Error(err)
		}
	}()
	key, err := l.machine.key(l.k)
	if err != nil {
		t.Fatal(err)
	}
	name, err := key.hash()
	if err != nil {
		t.Fatal(err)
	}
	folder, err := l.folder()
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(folder.Path("template-"+name), []byte(snapshotMagic), 0o600); err != nil {
		t.Fatal(err)
	}
}

// openTwice opens two Launchers at once where there is no template.
func openTwice(t *testing.T, s Spec) [2]*Launcher {
	t.Helper()
	defer emutest.Boot(t)() // for the one of them that makes the template
	var all sync.WaitGroup
	var both [2]*Launcher
	for i := range both {
		all.Go(func() {
			var err error
			if both[i], err = Open(t.Context(), s); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	t.Cleanup(func() {
		for _, l := range both {
			if l != nil {
				if err := l.Close(); err != nil {
					t.Error(err)
				}
			}
		}
	})
	if t.Failed() {
		t.FailNow()
	}
	return both
}

// One template serves all of this: booting it takes seconds in emulation.
func TestClones(t *testing.T) {
	t.Parallel()
	s := spec(t, WayTemplate)
	spoilt(t, s)
	both := openTwice(t, s)
	l := both[0]
	kept, err := filepath.Glob(filepath.Join(s.CacheDir, "template-*"))
	if err != nil || len(kept) != 1 {
		t.Fatalf("templates in the cache: %q (%v), want one", kept, err)
	}
	t.Run("who comes while a template is made waits for it", func(t *testing.T) {
		if !bytes.Equal(l.shared.state, both[1].shared.state) || sum(t, l.shared.memory) != sum(t, both[1].shared.memory) {
			t.Error("two templates were made")
		}
	})
	t.Run("many leave nothing", func(t *testing.T) { leaksNothing(t, l) })
	t.Run("no two are the same", func(t *testing.T) {
		t.Parallel()
		noTwoAreTheSame(t, l)
	})
	t.Run("little is translated until one is ready", func(t *testing.T) {
		t.Parallel()
		littleIsTranslated(t, l)
	})
	t.Run("a template is not written to", func(t *testing.T) {
		t.Parallel()
		templateStays(t, l, kept[0])
	})
	t.Run("whoever comes later finds the template", func(t *testing.T) {
		t.Parallel()
		findsTemplate(t, s, kept[0])
	})
	t.Run("a template that was read outlasts its file", func(t *testing.T) {
		t.Parallel()
		outlastsItsFile(t, s, kept[0])
	})
	t.Run("a template is of the QEMU that is there", func(t *testing.T) {
		t.Parallel()
		followsQEMU(t, s)
	})
	t.Run("one that dies is an error", func(t *testing.T) {
		t.Parallel()
		a := launched(t, l)
		if err := unix.Kill(a.PID(), unix.SIGKILL); err != nil {
			t.Fatal(err)
		}
		<-a.Exited()
		if err := a.Agent().Ping(t.Context()); err == nil {
			t.Error("its agent answers")
		}
	})
	t.Run("disks", func(t *testing.T) { disksOfClones(t, l) })
	t.Run("a caller that is killed leaves nothing", func(t *testing.T) {
		t.Parallel()
		leavesNothing(t, s)
	})
	for name, test := range map[string]func(*testing.T, *Launcher){
		"one can be handed over":                     handedOver,
		"one that nobody takes over ends":            nobodyTakesOver,
		"one that has had a disk is given to nobody": hadDisk,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(t, l)
		})
	}
	t.Run("it is confined and measured", func(t *testing.T) {
		t.Parallel()
		a := launched(t, l)
		confined(t, a)
		if pss, err := a.PSS(); err != nil || pss < 1<<20 || pss > 512<<20 {
			t.Errorf("PSS %d (%v)", pss, err)
		}
	})
}

func noTwoAreTheSame(t *testing.T, l *Launcher) {
	seen := map[string]bool{}
	for range 3 {
		i := launched(t, l).Info()
		for _, mark := range []string{"nonce " + string(i.Nonce), "boot " + i.BootID, "host " + i.Hostname} {
			if seen[mark] {
				t.Errorf("two clones have the %q", mark)
			}
			seen[mark] = true
		}
	}
}

// templateStays writes to all the memory that clones map, through their guests and by hand.
func templateStays(t *testing.T, l *Launcher, path string) {
	before, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	memory := sum(t, l.shared.memory)
	for range 2 {
		a := launched(t, l)
		if _, err := a.Agent().Statfs(t.Context(), "/"); err != nil { // which takes and writes memory in the guest
			t.Error(err)
		}
	}
	if sum(t, l.shared.memory) != memory {
		t.Error("its memory has changed")
	}
	if now, err := os.ReadFile(path); err != nil || !bytes.Equal(now, before) {
		t.Errorf("its file has changed (%v)", err)
	}
}

func findsTemplate(t *testing.T, s Spec, path string) {
	st, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	l, err := Open(t.Context(), s)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	if way, why := l.Way(); way != WayTemplate || why != "" {
		t.Errorf("the way is %v: %s", way, why)
	}
	now, err := os.Stat(path)
	if err != nil || !os.SameFile(st, now) {
		t.Errorf("the template was made again (%v)", err)
	}
	launched(t, l)
}
