package qemu

import (
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"

	"taproom/internal/host"
	"taproom/internal/host/hosttest"
	"taproom/internal/qemu/launch"
)

func TestMain(m *testing.M) { hosttest.Main(m) }

// buildLauncher finds the taproom-launch that `make test` has built, or puts one beside the test's own binary, where go test
// cleans up.
var buildLauncher = sync.OnceValues(func() (string, error) {
	if bin := os.Getenv("TAPROOM_BIN"); bin != "" {
		return filepath.Join(bin, "taproom-launch"), nil
	}
	self, err := os.Executable()
	if err != nil {
		return "", err
	}
	path := filepath.Join(filepath.Dir(self), "taproom-launch")
	out, err := exec.Command("go", "build", "-o", path, "taproom/cmd/taproom-launch").CombinedOutput()
	if err != nil {
		return string(out), err
	}
	return path, nil
})

// launcher returns the path of taproom-launch.
func launcher(t testing.TB) string {
	t.Helper()
	path, err := buildLauncher()
	if err != nil {
		t.Fatalf("build taproom-launch: %v\n%s", err, path)
	}
	return path
}

// emulator is a QEMU to test with.
type emulator struct {
	name     string
	binary   string
	env      []string
	firmware []string
}

// emulators are the machine's QEMU and, when TAPROOM_QEMU10 names a directory that tools/backports.sh filled, the one in
// there.
func emulators(t testing.TB) []emulator {
	t.Helper()
	binary, err := exec.LookPath("qemu-system-x86_64")
	if err != nil {
		t.Fatalf("%v: install qemu-system-x86", err)
	}
	all := []emulator{{name: "distribution", binary: binary}}
	if dir := os.Getenv("TAPROOM_QEMU10"); dir != "" {
		e := Beside(dir)
		all = append(all, emulator{name: "backports", binary: e.Binary, env: e.Env, firmware: e.Firmware})
	}
	return all
}

// minimal is the smallest guest that starts.
func (e emulator) minimal() *Config {
	return &Config{
		Binary: e.binary, Env: e.env, Firmware: e.firmware, Name: "test",
		Machine: Option{Head: "pc", Props: Props{{"usb", false}, {"vmport", false}}}, Accel: Option{Head: "tcg"}, MemoryMB: 16,
	}
}

const testUID = 61234

func spec(t testing.TB, c *Config) StartSpec {
	dir := t.TempDir()
	return StartSpec{
		Launcher: launcher(t), Config: c, Confinement: Confinement{UID: testUID, GID: testUID},
		QMPPath: filepath.Join(dir, "qmp.sock"), PIDFile: filepath.Join(dir, "pid"), LogPath: filepath.Join(dir, "log"),
	}
}

func kernel() *host.Kernel { return host.New(host.Options{}) }

// status reads fields of /proc/PID/status.
func status(t testing.TB, pid int, names ...string) map[string]string {
	t.Helper()
	b, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/status")
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]string{}
	for line := range strings.Lines(string(b)) {
		name, value, _ := strings.Cut(line, ":")
		for _, n := range names {
			if n == name {
				got[n] = strings.Join(strings.Fields(value), " ")
			}
		}
	}
	return got
}

func limit(resource int, n uint64) launch.Limit {
	return launch.Limit{Resource: resource, Soft: n, Hard: n}
}
