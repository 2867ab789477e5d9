package qemu

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"

	"taproom/internal/host"
	"taproom/internal/host/hosttest"
	"taproom/internal/qemu/launch"
)

func TestRulesetNamesOnlyWhatExistsAndWhatTheConfigAsksFor(t *testing.T) {
	t.Parallel()
	there := []string{"/usr", "/lib", "/dev/pts", "/opt/bin", "/opt/bin/qemu", "/opt/lib", "/opt/fw", kvmPath}
	exists := func(p string) bool { return slices.Contains(there, p) }
	c := &Config{
		Binary: "/opt/bin/qemu", Env: []string{"LD_LIBRARY_PATH=/opt/lib:/none", "X=/usr"}, Firmware: []string{"/opt/fw"},
		ReadOnly: []string{"/boot/k"}, ReadWrite: []string{"/d"}, BindTCP: []uint16{5900}, Accel: Option{Head: "kvm"},
	}
	want := &host.Landlock{
		ReadExec: []string{"/usr", "/lib", "/opt/bin/qemu", "/opt/bin", "/opt/lib", "/opt/fw"}, ReadOnly: []string{"/boot/k"},
		ReadWrite: []string{"/dev/pts", "/d", kvmPath}, BindTCP: []uint16{5900}, ScopeAbstract: true, ScopeSignals: true,
	}
	if d := cmp.Diff(want, ruleset(c, exists)); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
}

// What lies beside an emulator in / or in somebody's home is not its own.
func TestAnEmulatorOpensNoFolderOfTheRootToItself(t *testing.T) {
	t.Parallel()
	for binary, want := range map[string][]string{
		"/qemu":          {"/qemu"},
		"/root/qemu":     {"/root/qemu"},
		"/opt/q/bin/sys": {"/opt/q/bin/sys", "/opt/q/bin"},
	} {
		below := func(path string) bool { return path == binary || path == filepath.Dir(binary) }
		if d := cmp.Diff(want, ruleset(&Config{Binary: binary}, below).ReadExec); d != "" {
			t.Errorf("%s (-want +got):\n%s", binary, d)
		}
	}
}

func TestCoreFilesAreOffUnlessAskedFor(t *testing.T) {
	t.Parallel()
	core, files := limit(unix.RLIMIT_CORE, 7), limit(unix.RLIMIT_NOFILE, 8)
	for _, tc := range []struct{ limits, want []launch.Limit }{
		{nil, []launch.Limit{{Resource: unix.RLIMIT_CORE}}},
		{[]launch.Limit{files}, []launch.Limit{files, {Resource: unix.RLIMIT_CORE}}},
		{[]launch.Limit{core}, []launch.Limit{core}},
	} {
		if got := (Confinement{Limits: tc.limits}).limits(); !slices.Equal(got, tc.want) {
			t.Errorf("limits %v: got %v, want %v", tc.limits, got, tc.want)
		}
	}
}

func TestGuestIsBornInItsCgroup(t *testing.T) {
	t.Parallel()
	k := kernel()
	root, err := k.CgroupRoot()
	hosttest.Needs(t, err, hosttest.Lift{})
	s := spec(t, emulators(t)[0].minimal())
	s.Cgroup = filepath.Join(root, fmt.Sprintf("taproom-test-%d", os.Getpid()))
	if err := k.MakeCgroup(s.Cgroup); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := k.RemoveCgroup(t.Context(), s.Cgroup); err != nil && t.Context().Err() == nil {
			t.Error(err)
		}
	})
	p, err := Start(t.Context(), k, s)
	if err != nil {
		t.Fatal(err)
	}
	pids, err := k.CgroupProcs(s.Cgroup)
	if err != nil || !slices.Equal(pids, []int{p.PID()}) {
		t.Errorf("processes in the cgroup: got %v, %v; want %d", pids, err, p.PID())
	}
	end(t, p)
	if err := k.RemoveCgroup(t.Context(), s.Cgroup); err != nil {
		t.Error(err)
	}
}

// childEnv makes the test binary start a QEMU, say its number and exit without Close.
const childEnv = "TAPROOM_TEST_START_AND_DIE"

func TestOnlyAGuestSurvivesTheDeathOfItsParent(t *testing.T) {
	t.Parallel()
	if path := os.Getenv(childEnv); path != "" { // the daemon that dies: it cleans up nothing
		s := StartSpec{
			Launcher: launcher(t), Config: emulators(t)[0].minimal(), QMPPath: path + ".sock", PIDFile: path, LogPath: path + ".log",
			Confinement: Confinement{UID: testUID, GID: testUID, DieWithParent: os.Getenv(childEnv+"_TIED") != ""},
		}
		if _, err := Start(t.Context(), kernel(), s); err != nil {
			t.Fatal(err)
		}
		_ = unix.Kill(os.Getpid(), unix.SIGKILL)
	}
	for _, tied := range []bool{false, true} {
		t.Run(fmt.Sprintf("tied %v", tied), func(t *testing.T) {
			t.Parallel()
			self, err := os.Executable()
			if err != nil {
				t.Fatal(err)
			}
			pidFile := filepath.Join(t.TempDir(), "pid")
			c := exec.Command(self, "-test.run=^TestOnlyAGuestSurvivesTheDeathOfItsParent$")
			c.Env = append(os.Environ(), childEnv+"="+pidFile)
			if tied {
				c.Env = append(c.Env, childEnv+"_TIED=1")
			}
			if out, err := c.CombinedOutput(); err == nil || !strings.Contains(err.Error(), "killed") {
				t.Fatalf("the parent was not killed: %v\n%s", err, out)
			}
			p, err := Adopt(t.Context(), kernel(), pidFile, pidFile+".log")
			if tied {
				if err == nil { // the signal may still be on its way
					<-p.Exited()
					err = p.Close()
				}
				if err != nil && !errors.Is(err, ErrNotRunning) {
					t.Error(err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			defer end(t, p)
			if err := p.Connect(t.Context(), pidFile+".sock"); err != nil {
				t.Error(err)
			}
		})
	}
}
