package qemu

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"

	"taproom/internal/host"
	"taproom/internal/host/hosttest"
	"taproom/internal/qemu/qmp"
)

// start runs the guest and ends it with the test.
func start(t *testing.T, s StartSpec) *Process {
	t.Helper()
	p, err := Start(t.Context(), kernel(), s)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { end(t, p) })
	return p
}

func end(t *testing.T, p *Process) {
	t.Helper()
	if err := p.Signal(unix.SIGKILL); err != nil && !errors.Is(err, host.ErrGone) {
		t.Error(err)
	}
	<-p.Exited()
	if err := p.Close(); err != nil {
		t.Error(err)
	}
}

func TestGuestIsConfinedAsAsked(t *testing.T) {
	t.Parallel()
	for _, e := range emulators(t) {
		t.Run(e.name, func(t *testing.T) {
			t.Parallel()
			s := spec(t, e.minimal())
			s.Limits = append(s.Limits, limit(unix.RLIMIT_NOFILE, 4096), limit(unix.RLIMIT_MEMLOCK, 1<<20))
			p := start(t, s)
			uid := strings.TrimSpace(strings.Repeat(strconv.Itoa(testUID)+" ", 4))
			want := map[string]string{
				"Uid": uid, "Gid": uid, "Groups": "", "NoNewPrivs": "1", "Seccomp": "2", "Umask": "0077",
				"CapInh": none, "CapPrm": none, "CapEff": none, "CapBnd": none, "CapAmb": none,
			}
			var names []string
			for n := range want {
				names = append(names, n)
			}
			if d := cmp.Diff(want, status(t, p.PID(), names...)); d != "" {
				t.Errorf("/proc/PID/status (-want +got):\n%s", d)
			}
			limits := limitsOf(t, p.PID())
			wantLimits := map[string]string{"Max core file size": "0 0", "Max open files": "4096 4096", "Max locked memory": "1048576 1048576"}
			if d := cmp.Diff(wantLimits, limits); d != "" {
				t.Errorf("/proc/PID/limits (-want +got):\n%s", d)
			}
			if sid, err := unix.Getsid(p.PID()); err != nil || sid != p.PID() {
				t.Errorf("session: got %d, %v; want its own, %d", sid, err, p.PID())
			}
			record, err := ReadPIDFile(kernel(), s.PIDFile)
			if err != nil || record.PID != p.PID() || record.Start != p.StartTime() {
				t.Errorf("pid file: got %+v, %v; want %d started at %d", record, err, p.PID(), p.StartTime())
			}
			if open := strangers(t, p.PID()); len(open) > 0 {
				t.Errorf("QEMU holds descriptors it was not given: %q", open)
			}
		})
	}
}

const none = "0000000000000000"

func TestQEMUOpensOnlyWhatTheRulesetNames(t *testing.T) {
	t.Parallel()
	_, err := host.LandlockABI()
	hosttest.Needs(t, err, hosttest.Lift{})
	for _, e := range emulators(t) {
		t.Run(e.name, func(t *testing.T) {
			t.Parallel()
			c := e.minimal()
			open, shut := ownedFile(t, "open"), ownedFile(t, "shut")
			c.ReadWrite = []string{open}
			p := start(t, spec(t, c))
			if v, why := p.Landlock(); v == 0 {
				t.Fatalf("no Landlock: %s", why)
			}
			add := func(path string) error {
				return p.QMP().Execute(t.Context(), "blockdev-add", Props{{"driver", "file"}, {"node-name", filepath.Base(path)}, {"filename", path}}, nil)
			}
			if err := add(open); err != nil {
				t.Errorf("a file that the ruleset names: %v", err)
			}
			for _, path := range []string{shut, "/etc/passwd"} {
				err := add(path)
				var refused *qmp.Error
				if !errors.As(err, &refused) || !strings.Contains(refused.Desc, "Permission denied") {
					t.Errorf("%s, outside of the ruleset: got %v, want permission denied", path, err)
				}
			}
		})
	}
}

// ownedFile makes a disk that QEMU's user owns in a directory that it may enter.
func ownedFile(t *testing.T, name string) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "taproom-disk")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	path := filepath.Join(dir, name)
	err = errors.Join(os.WriteFile(path, make([]byte, 4096), 0o600), os.Chown(dir, testUID, testUID), os.Chown(path, testUID, testUID))
	if err != nil {
		t.Fatal(err)
	}
	return path
}

func TestDiskComesThroughAnFDSetThatItsUserCouldNotOpen(t *testing.T) {
	t.Parallel()
	for _, e := range emulators(t) {
		t.Run(e.name, func(t *testing.T) {
			t.Parallel()
			disk := filepath.Join(t.TempDir(), "disk") // root's, in root's directory
			if err := os.WriteFile(disk, make([]byte, 1<<20), 0o600); err != nil {
				t.Fatal(err)
			}
			c := e.minimal()
			c.FDSets = []FDSet{{ID: 1, ReadOnly: "vda ro", ReadWrite: "vda rw"}}
			c.Blockdevs = []Props{{{"driver", "file"}, {"node-name", "f"}, {"filename", c.FDSets[0].Path()}, {"read-only", true}, {"auto-read-only", true}}}
			c.Devices = []Props{{{"driver", "virtio-blk-pci"}, {"drive", "f"}, {"id", "d"}}}
			s := spec(t, c)
			s.Files = map[string]*os.File{"vda ro": openFile(t, disk, os.O_RDONLY), "vda rw": openFile(t, disk, os.O_RDWR)}
			p := start(t, s)
			if err := p.QMP().Execute(t.Context(), "blockdev-reopen", map[string]any{"options": []Props{{
				{"driver", "file"}, {"node-name", "f"}, {"filename", c.FDSets[0].Path()}, {"read-only", false}, {"auto-read-only", false},
			}}}, nil); err != nil {
				t.Errorf("reopen the disk read-write through its set: %v", err)
			}
			// and hot-plugged
			more := filepath.Join(filepath.Dir(disk), "more")
			if err := os.WriteFile(more, make([]byte, 1<<20), 0o600); err != nil {
				t.Fatal(err)
			}
			for _, flag := range []int{os.O_RDONLY, os.O_RDWR} {
				if _, err := p.QMP().AddFD(t.Context(), 9, "more", openFile(t, more, flag)); err != nil {
					t.Fatal(err)
				}
			}
			err := p.QMP().Execute(t.Context(), "blockdev-add", Props{{"driver", "file"}, {"node-name", "m"}, {"filename", FDSet{ID: 9}.Path()}}, nil)
			if err != nil {
				t.Errorf("hot-plug a disk through a set: %v", err)
			}
		})
	}
}

func openFile(t *testing.T, path string, flag int) *os.File {
	t.Helper()
	f, err := os.OpenFile(path, flag, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	return f
}

func TestGuestSurvivesItsDaemonAndIsAdopted(t *testing.T) {
	t.Parallel()
	for _, e := range emulators(t) {
		t.Run(e.name, func(t *testing.T) {
			t.Parallel()
			s := spec(t, e.minimal())
			first, err := Start(t.Context(), kernel(), s)
			if err != nil {
				t.Fatal(err)
			}
			pid := first.PID()
			if err := first.Close(); err != nil { // all that a daemon's death does to it
				t.Fatal(err)
			}
			p, err := Adopt(t.Context(), kernel(), s.PIDFile, s.LogPath)
			if err != nil {
				t.Fatal(err)
			}
			if err := p.Connect(t.Context(), s.QMPPath); err != nil {
				t.Fatal(err)
			}
			var st struct{ Status string }
			if err := p.QMP().Execute(t.Context(), "query-status", nil, &st); err != nil || st.Status != "prelaunch" || p.PID() != pid {
				t.Errorf("adopted %d: status %q, %v; want %d, prelaunch", p.PID(), st.Status, err, pid)
			}
			end(t, p)
			if _, err := Adopt(t.Context(), kernel(), s.PIDFile, s.LogPath); !errors.Is(err, ErrNotRunning) {
				t.Errorf("adopt a dead one: got %v, want %v", err, ErrNotRunning)
			}
		})
	}
}

func TestPIDFileOfAnotherProcessIsNotAdopted(t *testing.T) {
	t.Parallel()
	own, err := kernel().StartTime(os.Getpid())
	if err != nil {
		t.Fatal(err)
	}
	for name, content := range map[string]string{
		"number used again": fmt.Sprintf(`{"pid":%d,"start":%d}`, os.Getpid(), own+1),
		"empty":             "",
		"half":              fmt.Sprintf(`{"pid":%d,`, os.Getpid()),
		"init":              `{"pid":1,"start":1}`,
		"no start time":     fmt.Sprintf(`{"pid":%d}`, os.Getpid()),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			path := filepath.Join(t.TempDir(), "pid")
			if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
				t.Fatal(err)
			}
			if p, err := Adopt(t.Context(), kernel(), path, ""); !errors.Is(err, ErrNotRunning) {
				t.Errorf("adopt by %q: got %v, %v; want %v", content, p, err, ErrNotRunning)
			}
		})
	}
}

func TestExitIsNoticedWithItsStatus(t *testing.T) {
	t.Parallel()
	p := start(t, spec(t, emulators(t)[0].minimal()))
	if err := p.QMP().Execute(t.Context(), "quit", nil, nil); err != nil {
		t.Fatal(err)
	}
	got, err := p.Wait(t.Context())
	if want := (Exit{Known: true}); err != nil || got != want {
		t.Errorf("after quit: got %v, %v; want %v", got, err, want)
	}
	if err := p.Signal(unix.SIGTERM); !errors.Is(err, host.ErrGone) {
		t.Errorf("signal after the end: got %v, want %v", err, host.ErrGone)
	}
}

// TestADeathIsHeardOfFirst: the kernel closes descriptors in their order, and taps take it 20 ms each.
func TestADeathIsHeardOfFirst(t *testing.T) {
	t.Parallel()
	p := start(t, spec(t, emulators(t)[0].minimal()))
	if to, err := os.Readlink(fmt.Sprintf("/proc/%d/fd/3", p.PID())); err != nil || !strings.HasPrefix(to, "pipe:") {
		t.Errorf("its first descriptor is %q, %v, want the pipe that tells of its death", to, err)
	}
	select {
	case <-p.Dying():
		t.Error("it is told to be dying")
	default:
	}
	if p.Ending() {
		t.Error("it is said to be ending")
	}
	if err := p.Signal(unix.SIGKILL); err != nil {
		t.Fatal(err)
	}
	select {
	case <-p.Dying():
	case <-t.Context().Done():
		t.Fatal("nobody heard of its death")
	}
	if !p.Ending() {
		t.Error("it is not said to be ending")
	}
}

// strangers lists open files of QEMU that are neither its own making nor what it was given.
func strangers(t *testing.T, pid int) []string {
	t.Helper()
	dir := fmt.Sprintf("/proc/%d/fd", pid)
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, e := range entries {
		to, _ := os.Readlink(filepath.Join(dir, e.Name()))
		known := false
		for _, prefix := range []string{"/dev/null", "socket:", "anon_inode:", "pipe:", "/memfd:"} {
			known = known || strings.HasPrefix(to, prefix)
		}
		if strings.HasPrefix(to, "/memfd:taproom-launch") || !known && !strings.HasSuffix(to, "/log") {
			out = append(out, to)
		}
	}
	return out
}

func limitsOf(t *testing.T, pid int) map[string]string {
	t.Helper()
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/limits", pid))
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]string{}
	for line := range strings.Lines(string(b)) {
		for _, name := range []string{"Max core file size", "Max open files", "Max locked memory"} {
			if rest, ok := strings.CutPrefix(line, name); ok {
				f := strings.Fields(rest)
				got[name] = f[0] + " " + f[1]
			}
		}
	}
	return got
}

func TestPropsMarshalForTheMonitorInOrder(t *testing.T) {
	t.Parallel()
	b, err := json.Marshal(Props{{"z", 1}, {"a", Props{{"list", []string{"<&>"}}}}})
	if want := `{"z":1,"a":{"list":["\u003c\u0026\u003e"]}}`; err != nil || string(b) != want {
		t.Errorf("got %s, %v; want %s", b, err, want)
	}
	if _, err := json.Marshal(Props{{"fd", FD("tap")}}); err == nil {
		t.Error("a descriptor by name went into a monitor command")
	}
}
