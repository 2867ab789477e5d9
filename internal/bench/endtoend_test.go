package bench_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"

	"taproom/internal/bench"
	"taproom/internal/engine"
	"taproom/internal/host"
	"taproom/internal/sandbox"
)

// built is a folder of built programs: that of `make test`, or one that this makes.
var built = sync.OnceValues(func() (string, error) {
	if dir := os.Getenv("TAPROOM_BIN"); dir != "" {
		return dir, nil
	}
	dir := filepath.Join(os.TempDir(), "taproom-test-bench")
	c := exec.Command("go", "build", "-o", dir+"/", "taproom/cmd/taproom", "taproom/cmd/taproomd", "taproom/cmd/taproom-launch", "taproom/cmd/taproom-vnet", "taproom/cmd/taproom-init")
	c.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := c.CombinedOutput(); err != nil {
		return "", fmt.Errorf("build the programs: %w: %s", err, out)
	}
	return dir, nil
})

func programs(t *testing.T) string {
	t.Helper()
	dir, err := built()
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

// command is a run of the command line, with a folder of its own for temporary files.
type command struct {
	*exec.Cmd
	temp           string
	stdout, stderr bytes.Buffer
}

func newCommand(t *testing.T, programs string, args ...string) *command {
	t.Helper()
	temp, err := os.MkdirTemp("", "bench") // not t.TempDir: sockets below it need a short path
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(temp) })
	if err := os.Chmod(temp, 0o755); err != nil { // guests' users walk through it
		t.Fatal(err)
	}
	c := &command{Cmd: exec.CommandContext(t.Context(), filepath.Join(programs, "taproom"), args...), temp: temp}
	c.Env = append(os.Environ(), "TMPDIR="+temp)
	c.Cmd.Stdout, c.Cmd.Stderr = &c.stdout, &c.stderr
	c.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	return c
}

// Start starts the command so that it ends with the test, also with one whose time is up.
func (c *command) Start() error { return sandbox.StartTied(c.Cmd, unix.SIGTERM) }

// finish waits for the end of a command that was started. What it left is an error.
func (c *command) finish(t *testing.T) (code int) {
	t.Helper()
	err := c.Wait()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	if left, err := os.ReadDir(c.temp); err != nil || len(left) != 0 {
		t.Errorf("%q left %v, %v", c.Args, left, err)
	}
	return c.ProcessState.ExitCode()
}

// taproom runs the command line.
func taproom(t *testing.T, programs string, args ...string) (stdout, stderr string, code int) {
	t.Helper()
	c := newCommand(t, programs, args...)
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	code = c.finish(t)
	return c.stdout.String(), c.stderr.String(), code
}

// report runs a benchmark and reads its JSON, which may hold nothing that is not documented.
func report(t *testing.T, programs string, args ...string) *bench.Report {
	t.Helper()
	out, said, code := taproom(t, programs, append([]string{"bench", "--json", "--rounds", "2"}, args...)...)
	if code != 0 {
		t.Fatalf("taproom bench %q: exit code %d\n%s%s", args, code, out, said)
	}
	d := json.NewDecoder(strings.NewReader(out))
	d.DisallowUnknownFields()
	r := &bench.Report{}
	if err := d.Decode(r); err != nil || d.More() {
		t.Fatalf("taproom bench %q: %v, output:\n%s", args, err, out)
	}
	return r
}

// figures checks every figure and returns their names with their units.
func figures(t *testing.T, r *bench.Report) []string {
	t.Helper()
	var out []string
	for _, f := range r.Figures {
		out = append(out, f.Name+" "+f.Unit)
		if f.N != 2 || f.Min > f.Median || f.Median > f.Max {
			t.Errorf("%s is no figure of two rounds: %+v", r.Bench, f)
		}
		if f.Median <= 0 && !strings.HasSuffix(f.Name, "own") && !strings.Contains(f.Name, "stage.") && f.Unit != "each" {
			t.Errorf("%s: nothing was measured: %+v", r.Bench, f)
		}
	}
	if h := r.Host; h.Kernel == "" || h.CPU == "" || h.CPUs < 1 || h.QEMU == "" && r.Bench != "addresses" || h.Version == "" {
		t.Errorf("%s: the machine is not described: %+v", r.Bench, h)
	}
	return out
}

func TestTheCommandMeasuresAStartWithStableNames(t *testing.T) {
	t.Parallel()
	dir := programs(t)
	r := report(t, dir, "start", "--base", dir)
	want := []string{"floor ms", "total ms", "base.total ms"}
	for _, build := range []string{"", "base."} {
		for _, name := range []string{"own", "stage.parse", "stage.plan", "stage.links", "stage.files", "stage.exec", "stage.qmp", "stage.settle"} {
			want = append(want, build+name+" ms")
		}
	}
	if d := cmp.Diff(want, figures(t, r)); d != "" {
		t.Errorf("figures (-want +got):\n%s", d)
	}
	if len(r.Skipped) != 1 || r.Skipped[0].Name != "peer.libvirt" {
		t.Errorf("skipped %+v, want the peer alone", r.Skipped)
	}
	if len(r.Compare) == 0 || r.Compare[0].Name != "total" || r.Compare[0].P <= 0 || r.Compare[0].P > 1 {
		t.Errorf("compared %+v, want the builds' totals first", r.Compare)
	}
}

func TestTheCommandMeasuresTheAPIWithStableNames(t *testing.T) {
	t.Parallel()
	r := report(t, programs(t), "api", "--domains", "20")
	want := []string{
		"list.20 us", "list.20.python us", "info 1/s", "info.running 1/s", "rss.20 MB", "restart.20 ms", "rss.20.restarted MB",
	}
	if d := cmp.Diff(want, figures(t, r)); d != "" {
		t.Errorf("figures (-want +got):\n%s\nskipped: %+v", d, r.Skipped)
	}
}

func TestTheCommandMeasuresManyNICsWithStableNames(t *testing.T) {
	t.Parallel()
	r := report(t, programs(t), "many", "--nics", "3", "--guests", "1", "--machine", "q35")
	want := []string{"floor.tap.3.start ms", "tap.3.start ms", "tap.1x8.start ms", "tap.3.own ms"}
	for _, stage := range []string{"parse", "plan", "links", "files", "exec", "qmp", "settle"} {
		want = append(want, "tap.3.stage."+stage+" ms")
	}
	want = append(want, "tap.3.destroy ms", "tap.3.poweroff ms", "tap.3.killed ms", "tap.3.killed.neighbour ms", "tap.1x8.remove ms")
	if d := cmp.Diff(want, figures(t, r)); d != "" {
		t.Errorf("figures (-want +got):\n%s", d)
	}
}

func TestTheCommandMeasuresRestartsBesideGuestsWithStableNames(t *testing.T) {
	t.Parallel()
	r := report(t, programs(t), "readopt", "--guests", "2", "--kind", "macvtap")
	if d := cmp.Diff([]string{"floor ms", "macvtap.2x8 ms"}, figures(t, r)); d != "" {
		t.Errorf("figures (-want +got):\n%s", d)
	}
}

func TestTheCommandMeasuresAddressesWithStableNames(t *testing.T) {
	t.Parallel()
	r := report(t, programs(t), "addresses", "--networks", "10")
	want := []string{
		"join ms", "change ms", "rss.10 MB",
		"floor.echo ms", "offer ms", "offer.10000 ms", "floor.udp 1/s", "dns.cached 1/s", "dns.local 1/s", "dns.forwarded 1/s", "rss.10.asked MB",
		"floor.echo.p99 ms", "offer.p99 ms", "offer.10000.p99 ms",
		"restart.10 ms", "restart.10.first ms",
	}
	var own []string
	for _, name := range figures(t, r) {
		if !strings.HasPrefix(name, "peer.") { // there may be a dnsmasq
			own = append(own, name)
		}
	}
	if d := cmp.Diff(want, own); d != "" {
		t.Errorf("figures (-want +got):\n%s\nskipped: %+v", d, r.Skipped)
	}
	if len(r.Skipped) == 0 || !strings.HasPrefix(r.Skipped[0].Name, "peer.dnsmasq") {
		t.Errorf("skipped %+v, want what dnsmasq cannot do, or that it is not there", r.Skipped)
	}
}

func TestTheCommandExplainsWhatItCannotMeasure(t *testing.T) {
	t.Parallel()
	dir := programs(t)
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{"bench", "nothing"}, `no benchmark "nothing"`},
		{[]string{"bench", "start", "--rounds", "0"}, "--rounds 0"},
		{[]string{"bench", "api", "--domains", "1"}, "--domains 1"},
		{[]string{"bench", "addresses", "--networks", "1"}, "--networks 1"},
		{[]string{"bench", "addresses", "--networks", "4001"}, "--networks 4001"},
		{[]string{"bench", "many", "--nics", "0"}, "--nics 0"},
		{[]string{"bench", "many", "--nics", "201"}, "--nics 201"},
		{[]string{"bench", "many", "--guests", "0"}, "--guests 0"},
		{[]string{"bench", "copy", "--size", "0"}, "--size 0"},
		{[]string{"bench", "many", "--kind", "hub"}, `--kind "hub"`},
		{[]string{"bench", "networks", "--active", "0"}, "--active [0]"},
		{[]string{"bench", "networks", "--active", "1,2001"}, "--active [1 2001]"},
		{[]string{"bench", "networks", "--backend", "nft,ipfw"}, "--backend nft,ipfw"},
		{[]string{"bench"}, "benchmark"},
	} {
		if _, said, code := taproom(t, dir, c.args...); code != 2 || !strings.Contains(said, c.want) {
			t.Errorf("taproom %q: exit code %d, said %q; want 2 and %q", c.args, code, said, c.want)
		}
	}
	none := filepath.Join(t.TempDir(), "none")
	for _, name := range []string{"start", "addresses", "networks"} {
		if _, said, code := taproom(t, dir, "bench", name, "--networks", "2", "--backend", "nft", "--base", none); code != 1 || !strings.Contains(said, none) {
			t.Errorf("%s of a build that is not there: exit code %d, said %q", name, code, said)
		}
	}
}

// underWay starts a measurement of many rounds and returns when a guest has been started, with the folder of the daemon.
func underWay(t *testing.T) (c *command, root string) {
	t.Helper()
	return guestOf(t, newCommand(t, programs(t), "bench", "start", "--rounds", "100000"), "*")
}

// guestOf runs a command and returns when a guest has been started by a daemon whose folder is below the command's own.
func guestOf(t *testing.T, c *command, below string) (_ *command, root string) {
	t.Helper()
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	const log = "/var/lib/taproom/log/bench.log"
	for {
		logs, err := filepath.Glob(filepath.Join(c.temp, below+log))
		if err == nil && len(logs) > 0 {
			return c, strings.TrimSuffix(logs[0], log)
		}
		select {
		case <-tick.C: // another program's file
		case <-t.Context().Done():
			t.Fatal("no guest was started")
		}
	}
}

func TestAnInterruptedMeasurementLeavesNothing(t *testing.T) {
	t.Parallel()
	c, root := underWay(t)
	if err := unix.Kill(-c.Process.Pid, unix.SIGINT); err != nil { // as a terminal does
		t.Fatal(err)
	}
	if code := c.finish(t); code != 1 || !strings.Contains(c.stderr.String(), "interrupted") {
		t.Errorf("exit code %d, said %q; want 1 and that it was interrupted", code, c.stderr.String())
	}
	noGuests(t, root)
}

func TestAnInterruptedMeasurementOfAddressesLeavesNothing(t *testing.T) {
	t.Parallel()
	c := newCommand(t, programs(t), "bench", "addresses", "--networks", "50", "--rounds", "100000")
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	var pid []byte
	for pid == nil {
		select {
		case <-tick.C: // another program's files
		case <-t.Context().Done():
			t.Fatal("no helper was started")
		}
		if leases, _ := filepath.Glob(filepath.Join(c.temp, "*/0/leases/*")); len(leases) > 20 {
			found, err := filepath.Glob(filepath.Join(c.temp, "*/0/run/pid.json"))
			if err != nil || len(found) != 1 {
				t.Fatalf("pid files %q, %v", found, err)
			}
			if pid, err = os.ReadFile(found[0]); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := unix.Kill(-c.Process.Pid, unix.SIGINT); err != nil {
		t.Fatal(err)
	}
	if code := c.finish(t); code != 1 || !strings.Contains(c.stderr.String(), "interrupted") {
		t.Errorf("exit code %d, said %q; want 1 and that it was interrupted", code, c.stderr.String())
	}
	var helper struct{ PID int }
	if err := json.Unmarshal(pid, &helper); err != nil || helper.PID == 0 {
		t.Fatalf("pid file %q: %v", pid, err)
	}
	if err := unix.Kill(helper.PID, 0); !errors.Is(err, unix.ESRCH) {
		t.Errorf("the helper, process %d, still runs: %v", helper.PID, err)
	}
}

func TestADaemonThatDiesFailsTheMeasurementAndLeavesNothing(t *testing.T) {
	t.Parallel()
	c, root := underWay(t)
	if err := unix.Kill(daemonBelow(t, root), unix.SIGKILL); err != nil {
		t.Fatal(err)
	}
	if code := c.finish(t); code != 1 || !strings.Contains(c.stderr.String(), "signal: killed") {
		t.Errorf("exit code %d, said %q; want 1 and how the daemon ended", code, c.stderr.String())
	}
	noGuests(t, root)
}

// noGuests complains of what is left of the cgroups of a daemon's guests, which last as long as a guest does.
func noGuests(t *testing.T, root string) {
	t.Helper()
	k := host.New(host.Options{})
	defer k.Close()
	cgroups, err := k.CgroupRoot()
	if err != nil {
		t.Fatal(err)
	}
	slice := filepath.Join(cgroups, engine.NewIdentity(root).Slice)
	if _, err := os.Stat(slice); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("its guests' cgroup %s is there: %v", slice, err)
	}
}

// daemonBelow finds the daemon that was started with the root.
func daemonBelow(t *testing.T, root string) int {
	t.Helper()
	lines, err := filepath.Glob("/proc/[0-9]*/cmdline")
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range lines {
		b, err := os.ReadFile(path)
		if err == nil && bytes.Contains(b, []byte("taproomd\x00--root\x00"+root+"\x00")) {
			pid, err := strconv.Atoi(filepath.Base(filepath.Dir(path)))
			if err != nil {
				t.Fatal(err)
			}
			return pid
		}
	}
	t.Fatalf("no daemon below %s", root)
	return 0
}
