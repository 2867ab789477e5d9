package launch

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"

	"taproom/internal/host"
	"taproom/internal/host/hosttest"
)

// asLauncher makes the test binary play taproom-launch.
const asLauncher = "TAPROOM_TEST_AS_LAUNCHER"

func TestMain(m *testing.M) {
	if os.Getenv(asLauncher) != "" {
		if err := Main(os.Args[1:]); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
	}
	os.Exit(m.Run())
}

const uid = 61235

// outcome is all that the parent sees.
type outcome struct {
	reports []Report
	pidFile string
	output  string
	code    int
}

// run launches what s describes, with `extra` as the files that are kept.
func run(t *testing.T, s Spec, extra ...*os.File) outcome {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	s.Keep = len(extra)
	if s.Parent == 0 {
		s.Parent = os.Getpid()
	}
	s.StatusFD = firstKept + len(extra) + 1
	if !s.DieWithParent { // what does not outlive its parent needs none
		s.PIDFile = s.StatusFD + 1
	}
	doc, err := s.Encode()
	if err != nil {
		t.Fatal(err)
	}
	specFile, pidFile := temp(t, string(doc)), temp(t, "")
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	leak := temp(t, "leaked") // must not reach the program
	c := exec.Command(self, strconv.Itoa(firstKept+len(extra)))
	c.Env = []string{asLauncher + "=1"}
	c.ExtraFiles = append(append([]*os.File{}, extra...), specFile, w, pidFile, leak)
	out, err := c.CombinedOutput()
	w.Close()
	if err != nil && !errors.As(err, new(*exec.ExitError)) {
		t.Fatal(err)
	}
	o := outcome{output: string(out), code: c.ProcessState.ExitCode()}
	for d := json.NewDecoder(r); ; {
		var rep Report
		if err := d.Decode(&rep); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatal(err)
		}
		o.reports = append(o.reports, rep)
	}
	b, err := os.ReadFile(pidFile.Name())
	if err != nil {
		t.Fatal(err)
	}
	o.pidFile = string(b)
	return o
}

func temp(t *testing.T, content string) *os.File {
	t.Helper()
	f, err := os.CreateTemp(t.TempDir(), "f")
	if err == nil {
		_, err = f.WriteString(content)
	}
	if err == nil {
		_, err = f.Seek(0, io.SeekStart)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	return f
}

// shell is a Spec that runs a script.
func shell(script string) Spec {
	return Spec{Path: "/bin/sh", Args: []string{"sh", "-c", script}, Env: []string{"PATH=/usr/bin:/bin", "A=b"}, UID: uid, GID: uid + 1, Umask: 0o027}
}

func TestProgramInheritsOnlyWhatWasKeptAndWhoItShouldBe(t *testing.T) {
	t.Parallel()
	s := shell(`ls -l /proc/self/fd | awk '$9 ~ /^[0-9]+$/ && $9 > 2 && $11 !~ /^.proc/ {print "fd", $9}'; cat <&3; echo; echo A=$A; umask
		awk '/^(Uid|Groups|NoNewPrivs|CapEff|CapBnd|CapAmb)/ {print $1, $2}' /proc/self/status; cat /proc/self/oom_score_adj; ulimit -n; awk '/^THP/ {print $2}' /proc/self/status`)
	score := 321
	s.OOMScore, s.NoHugePages = &score, true
	s.Limits = []Limit{{Resource: unix.RLIMIT_NOFILE, Soft: 123, Hard: 123}}
	got := run(t, s, temp(t, "kept"))
	const none = "0000000000000000"
	want := "fd 3\nkept\nA=b\n0027\nUid: 61235\nGroups: \nCapEff: " + none + "\nCapBnd: " + none + "\nCapAmb: " + none + "\nNoNewPrivs: 1\n321\n123\n0\n"
	if d := cmp.Diff(want, got.output); d != "" || got.code != 0 {
		t.Errorf("exit %d (-want +got):\n%s", got.code, d)
	}
	if d := cmp.Diff([]Report{{NoLandlock: "not asked for"}}, got.reports); d != "" {
		t.Errorf("reports (-want +got):\n%s", d)
	}
}

func TestTheProgramHasTheGroupsItWasGivenAndNoOther(t *testing.T) {
	t.Parallel()
	for _, groups := range [][]uint32{nil, {105}, {1 << 31, 105}} {
		s := shell("awk '/^Groups/ {$1 = \"\"; print}' /proc/self/status")
		s.Groups = groups
		got := run(t, s)
		if want := strings.Trim(fmt.Sprint(slices.Sorted(slices.Values(groups))), "[]"); strings.TrimSpace(got.output) != want || got.code != 0 {
			t.Errorf("exit %d, groups %q, want %q, reports %+v", got.code, got.output, want, got.reports)
		}
	}
}

func TestAUserOfTheUpperHalfOfTheNumbersIsOneLikeAnyOther(t *testing.T) {
	t.Parallel()
	s := shell("id -u; id -g")
	s.UID, s.GID = 1<<31+5, 1<<32-2
	if got := run(t, s); got.output != "2147483653\n4294967294\n" || got.code != 0 {
		t.Errorf("exit %d, it is user and group %q, reports %+v", got.code, got.output, got.reports)
	}
}

func TestPIDFileNamesTheProcessThatTheProgramIs(t *testing.T) {
	t.Parallel()
	got := run(t, shell(`read -r line </proc/self/stat; echo "$$ ${line##*) }"`))
	pid, stat, _ := strings.Cut(got.output, " ")
	want := fmt.Sprintf(`{"pid":%s,"start":%s}`+"\n", pid, strings.Fields(stat)[22-3])
	if got.pidFile != want {
		t.Errorf("pid file %q, want %q", got.pidFile, want)
	}
}

// Whoever reads the pid file after the parent's end has read all there will ever be.
func TestAProgramWhosePIDFileComesTooLateIsNotRun(t *testing.T) {
	t.Parallel()
	s := shell("echo run")
	s.Parent = 1
	got := run(t, s)
	if want := []Report{{Stage: StageConfine, Failure: "the parent is gone"}}; cmp.Diff(want, got.reports) != "" || strings.Contains(got.output, "run\n") {
		t.Errorf("output %q, reports %+v", got.output, got.reports)
	}
	if got.pidFile == "" {
		t.Error("the parent was looked for before the pid file was written")
	}
}

func TestLandlockIsInForceWhenTheProgramStarts(t *testing.T) {
	t.Parallel()
	abi, err := host.LandlockABI()
	hosttest.Needs(t, err, hosttest.Lift{})
	s := shell("cat /etc/passwd || exec cat /etc/hostname")
	s.Landlock = &host.Landlock{ReadExec: []string{"/usr", "/bin", "/lib", "/lib64"}, ReadOnly: []string{"/etc/hostname"}}
	got := run(t, s)
	if d := cmp.Diff([]Report{{Landlock: abi}}, got.reports); d != "" || got.code != 0 || !strings.Contains(got.output, "Permission denied") {
		t.Errorf("exit %d, output %q, reports (-want +got):\n%s", got.code, got.output, d)
	}
}

func TestFailuresAreReportedWithTheirStage(t *testing.T) {
	t.Parallel()
	cases := []struct {
		name  string
		spoil func(s *Spec)
		want  []Report
	}{
		{"user root", func(s *Spec) { s.UID = 0 }, []Report{{Stage: StageSpec, Failure: "refused to run it as root: it needs a user and a group of its own"}}},
		{"group root", func(s *Spec) { s.GID = 0 }, []Report{{Stage: StageSpec, Failure: "refused to run it as root: it needs a user and a group of its own"}}},
		{"root's group beside its own", func(s *Spec) { s.Groups = []uint32{105, 0} }, []Report{
			{Stage: StageSpec, Failure: "refused to run it as root: it needs a user and a group of its own"},
		}},
		{"nothing to run", func(s *Spec) { s.Path = "" }, []Report{{Stage: StageSpec, Failure: "nothing to execute"}}},
		{"missing program", func(s *Spec) { s.Path = "/none" }, []Report{
			{NoLandlock: "not asked for"},
			{NoLandlock: "not asked for", Stage: StageExec, Failure: "execute /none: no such file or directory", Errno: int(unix.ENOENT)},
		}},
		{"another parent", func(s *Spec) { s.DieWithParent, s.Parent = true, 1 }, []Report{
			{NoLandlock: "not asked for", Stage: StageConfine, Failure: "the parent is gone"},
		}},
		{"missing path in the ruleset", func(s *Spec) { s.Landlock = &host.Landlock{ReadOnly: []string{"/none"}} }, []Report{
			{Stage: StageConfine, Failure: "allow /none: no such file or directory", Errno: int(unix.ENOENT)},
		}},
	}
	for _, tc := range cases {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			s := shell("echo ran")
			tc.spoil(&s)
			got := run(t, s)
			if d := cmp.Diff(tc.want, got.reports); d != "" || got.code == 0 || strings.Contains(got.output, "ran\n") {
				t.Errorf("exit %d, output %q, reports (-want +got):\n%s", got.code, got.output, d)
			}
		})
	}
}

func TestCommandLineThatIsNotOursIsRefused(t *testing.T) {
	t.Parallel()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{nil, {"x"}, {"0"}, {"99"}, {"3", "4"}} {
		c := exec.Command(self, args...)
		c.Env = []string{asLauncher + "=1"}
		out, err := c.CombinedOutput()
		if err == nil || !strings.Contains(string(out), "taproom-launch") {
			t.Errorf("%q: got %q, %v; want a refusal", args, out, err)
		}
	}
}
