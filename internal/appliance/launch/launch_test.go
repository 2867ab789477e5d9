package launch

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"taproom/internal/appliance/build"
	"taproom/internal/appliance/launchtest"
	"taproom/internal/host"
	"taproom/internal/qemu/emutest"
)

// spec is of appliances with the distribution's kernel and a cache of the test's own.
func spec(t testing.TB, way Way) Spec {
	t.Helper()
	return Spec{
		Files: launchtest.Files(t), Launcher: launchtest.Program(t, "taproom-launch"), Way: way, Accelerator: "tcg",
		CacheDir: filepath.Join(t.TempDir(), "templates"),
	}
}

// open is Open with a slot to boot a template in.
func open(t testing.TB, s Spec) (*Launcher, error) {
	t.Helper()
	defer emutest.Boot(t)()
	return Open(t.Context(), s)
}

// boot is Launch with a slot to boot in.
func boot(t testing.TB, s Spec) (*Appliance, error) {
	t.Helper()
	defer emutest.Boot(t)()
	return Launch(t.Context(), s)
}

// closed closes an appliance and checks that its QEMU is gone.
func closed(t testing.TB, a *Appliance) {
	t.Helper()
	if err := a.Close(); err != nil {
		t.Error(err)
	}
	if err := unix.Kill(a.PID(), 0); !errors.Is(err, unix.ESRCH) {
		t.Errorf("its QEMU: %v, want none", err)
	}
}

func TestAColdApplianceAnswers(t *testing.T) {
	t.Parallel()
	s := spec(t, WayCold)
	var stages []string
	var last time.Time
	s.Trace = func(s Stage, at time.Time) {
		if at.Before(last) {
			t.Errorf("%s was before what came before it", s)
		}
		stages, last = append(stages, string(s)), at
	}
	a, err := boot(t, s)
	if err != nil {
		t.Fatal(err)
	}
	if err := a.Agent().Ping(t.Context()); err != nil {
		t.Error(err)
	}
	if a.Info().Kernel == "" || a.Info().Hostname == "" {
		t.Errorf("it says of itself %+v", a.Info())
	}
	confined(t, a)
	closed(t, a)
	if got := strings.Join(stages, " "); got != "exec kernel ready closed" && got != "exec ready closed" { // a quiet kernel says nothing
		t.Errorf("stages %q", got)
	}
	if _, err := os.Stat(s.CacheDir); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("it has made a cache: %v", err)
	}
}

// confined checks whom an appliance's QEMU runs as, and what it may.
func confined(t *testing.T, a *Appliance) {
	t.Helper()
	b, err := os.ReadFile("/proc/" + strconv.Itoa(a.PID()) + "/status")
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]string{}
	for line := range strings.Lines(string(b)) {
		name, value, _ := strings.Cut(line, ":")
		got[name] = strings.Join(strings.Fields(value), " ")
	}
	held, err := filepath.Glob("/proc/" + strconv.Itoa(a.PID()) + "/fd/*")
	if err != nil || len(held) == 0 {
		t.Errorf("it has %d descriptors (%v)", len(held), err)
	}
	for _, fd := range held {
		if path, err := os.Readlink(fd); err == nil && path == a.l.locks {
			t.Error("it has the locks of all appliances' users")
		}
	}
	uid, _, _ := strings.Cut(got["Uid"], " ")
	n, err := strconv.ParseUint(uid, 10, 32)
	if own := os.Geteuid(); err != nil || own != 0 && int(n) != own || own == 0 && (n < firstUser || n >= firstUser+userCount) {
		t.Errorf("it runs as user %s (%v)", uid, err)
	}
	if got["NoNewPrivs"] != "1" || got["Seccomp"] != "2" || strings.Trim(got["CapEff"]+got["CapPrm"], "0") != "" {
		t.Errorf("no_new_privs %s, seccomp %s, capabilities %s", got["NoNewPrivs"], got["Seccomp"], got["CapEff"])
	}
	if _, ok := a.vm.(*userMode); ok {
		return // Landlock's version is not asked for there
	}
	if _, err := host.LandlockABI(); err == nil {
		if version, why := qemuOf(t, a).qemu.Landlock(); version == 0 {
			t.Errorf("no Landlock: %s", why)
		}
	}
}

func TestWhatCannotBeLaunchedIsRefusedWithAReason(t *testing.T) {
	t.Parallel()
	qemu, err := exec.LookPath("qemu-system-x86_64")
	if err != nil {
		t.Fatal(err)
	}
	for want, spoil := range map[string]func(*Spec){
		"appliances run on microvm, q35, pc":            func(s *Spec) { s.Machine = "isapc" },
		"it is kvm or tcg":                              func(s *Spec) { s.Accelerator = "xen" },
		"no kernel of User-Mode Linux was built":        func(s *Spec) { s.Way, s.Files.UML = WayUML, build.UMLFiles{} },
		"QEMU cannot be executed: /none/qemu":           func(s *Spec) { s.QEMU, s.Way = "/none/qemu", WayCold },
		"look at QEMU: stat /none/qemu":                 func(s *Spec) { s.QEMU, s.Way = "/none/qemu", WayTemplate },
		"start /none/launch: no such file or directory": func(s *Spec) { s.Launcher, s.Way = "/none/launch", WayCold },
		"could change what appliances begin with":       func(s *Spec) { s.Way, s.CacheDir = WayTemplate, everybodys(t) },
		"QEMU ended before it was ready: " + qemu:       func(s *Spec) { s.Files.Kernel, s.Way = os.DevNull, WayCold },
	} {
		s := spec(t, WayAuto)
		spoil(&s)
		a, err := Launch(t.Context(), s)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
		if err == nil {
			closed(t, a)
		}
	}
}

// everybodys is a folder that others may write to.
func everybodys(t *testing.T) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "shared")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(dir, 0o777); err != nil {
		t.Fatal(err)
	}
	return dir
}
