package suite

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"taproom/internal/host/hosttest"
)

// asTaproom makes the test binary play taproom, in the folder that it names.
const asTaproom = "TAPROOM_TEST_AS_TAPROOM"

func TestMain(m *testing.M) {
	if dir := os.Getenv(asTaproom); dir != "" {
		os.Exit(play(dir, os.Args[2]))
	}
	hosttest.Main(m)
}

const measures = `{"bench":"start","host":{"kernel":"k"},"figures":[{"name":"floor","unit":"ms","median":2,"min":1,"max":3,"n":3},{"name":"total","unit":"ms","median":4,"min":2,"max":6,"n":3}],` +
	`"skipped":[{"name":"peer.libvirt","why":"<script>no</script>"}],"raw":[{"name":"floor","unit":"ms","samples":[1,2,3]},{"name":"total","unit":"ms","samples":[2,4,6]}]}`

// play is a benchmark: start measures; api fails; names leaves a file; many waits until it is told to end when the file "wait" is
// there, and measures otherwise. It logs what it was asked.
func play(dir, member string) int {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	log := func(what string) {
		f, err := os.OpenFile(filepath.Join(dir, "log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
		if err == nil {
			_, err = f.WriteString(what + "\n")
		}
		if err = errors.Join(err, f.Close()); err != nil {
			panic(err)
		}
	}
	log(member)
	file := func(name string) string {
		name = filepath.Join(os.TempDir(), name)
		if err := os.WriteFile(name, nil, 0o600); err != nil {
			panic(err)
		}
		return name
	}
	_, err := os.Stat(filepath.Join(dir, "wait"))
	switch {
	case member == "api":
		fmt.Fprintln(os.Stderr, "a warning")
		fmt.Fprintln(os.Stderr, `{"error":"open /dev/kvm: <b>no</b> such file","exit":1}`)
		return 1
	case member == "names":
		file("forgotten")
	case member == "many" && err == nil:
		made := file("made")
		fmt.Fprintln(os.Stderr, `{"done":1,"total":2}`)
		<-ctx.Done()
		_ = os.Remove(made)
		log("cleaned")
		return 1
	default:
		fmt.Fprint(os.Stderr, `{"done":0,`)
		fmt.Fprintln(os.Stderr, `"total":2}`)
	}
	fmt.Fprintln(os.Stdout, measures)
	return 0
}

// world is a fake taproom and a folder for temporary files of its own.
type world struct{ dir, temp, out string }

func newWorld(t *testing.T) world {
	t.Helper()
	w := world{dir: t.TempDir(), temp: t.TempDir()}
	w.out = filepath.Join(w.dir, "out")
	t.Setenv("TMPDIR", w.temp)
	t.Setenv(asTaproom, w.dir)
	return w
}

func (w world) run(t *testing.T) *Run {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return &Run{
		Program: self, Out: w.out, Only: []string{"many", "start", "api", "names"}, Quick: true,
		Command: "taproom bench all --quick", Say: func(Progress) {}, Grace: time.Minute,
		Machine: Machine{Kernel: "6.1", CPU: "x", CPUs: 2, KVM: "no"}, Version: []Version{{"taproom", "v1"}},
	}
}

// log is what the program was asked since this was called last.
func (w world) log(t *testing.T) []string {
	t.Helper()
	file := filepath.Join(w.dir, "log")
	b, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(file); err != nil {
		t.Fatal(err)
	}
	var out []string
	for line := range strings.Lines(string(b)) {
		out = append(out, strings.TrimSpace(line))
	}
	return out
}

func (w world) nothingLeft(t *testing.T) {
	t.Helper()
	if left, err := os.ReadDir(w.temp); len(left) != 0 || err != nil {
		t.Errorf("left %v, %v", left, err)
	}
}

func TestEveryPartIsInTheReportWithItsFiguresOrItsReason(t *testing.T) {
	w := newWorld(t)
	run := w.run(t)
	var seen []Progress
	run.Say = func(p Progress) { seen = append(seen, p) }
	if _, err := run.Do(t.Context()); err != nil {
		t.Fatal(err)
	}
	w.nothingLeft(t)
	if got, want := w.log(t), []string{"start", "api", "names", "many"}; !slices.Equal(got, want) {
		t.Errorf("ran %v, want %v", got, want)
	}
	r, err := ReadReport(w.out)
	if err != nil {
		t.Fatal(err)
	}
	var said []string
	for _, p := range r.Parts {
		said = append(said, p.Name+" "+string(p.State)+" "+p.Why+strings.Join(p.Left, " "))
	}
	want := []string{"start measured ", "api not measured open /dev/kvm: <b>no</b> such file", "names measured forgotten", "many measured "}
	if !slices.Equal(said, want) {
		t.Errorf("parts %q, want %q", said, want)
	}
	if q := r.Parts[0].Ratios; len(q) != 1 || q[0].Figure != "total" || q[0].Against != "floor" || !q[0].Paired || q[0].Estimate < 1.9 || q[0].Estimate > 2.1 {
		t.Errorf("ratios %+v, want total to floor by pairs, 2", q)
	}
	if p := seen[1]; p.Part != "start" || p.At != 1 || p.Of != 4 || p.Done != 0 || p.Total != 2 || p.Left <= 0 {
		t.Errorf("progress %+v, want the rounds of start, though their line came in two pieces, and the time left", p)
	}
	text, err := os.ReadFile(filepath.Join(w.out, TextFile))
	if err != nil || !strings.Contains(string(text), "not measured: open /dev/kvm: <b>no</b> such file") || !strings.Contains(string(text), "total  to floor  × 2 (") {
		t.Errorf("text, %v:\n%s", err, text)
	}
	page, err := os.ReadFile(filepath.Join(w.out, PageFile))
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"open /dev/kvm: &lt;b&gt;no&lt;/b&gt; such file", "&lt;script&gt;no", `<svg class="plot bars"`, "2 4 6", "prefers-color-scheme: dark", "@media print"} {
		if !strings.Contains(string(page), want) {
			t.Errorf("the page has no %q", want)
		}
	}
	for _, bad := range []string{"<script", "src=", "@import", "url("} {
		if strings.Contains(string(page), bad) {
			t.Errorf("the page has %q", bad)
		}
	}
}

func TestAnInterruptedRunLeavesNothingAndIsGoneOnWith(t *testing.T) {
	w := newWorld(t)
	wait := filepath.Join(w.dir, "wait")
	if err := os.WriteFile(wait, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	ctx, interrupt := context.WithCancel(t.Context())
	run := w.run(t)
	run.Say = func(p Progress) {
		if p.Part == "many" && p.Done == 1 {
			interrupt()
		}
	}
	if _, err := run.Do(ctx); !errors.Is(err, context.Canceled) {
		t.Fatalf("error %v, want that it was interrupted", err)
	}
	w.nothingLeft(t)
	if got, want := w.log(t), []string{"start", "api", "names", "many", "cleaned"}; !slices.Equal(got, want) {
		t.Errorf("ran %v, want %v", got, want)
	}
	if _, err := ReadReport(w.out); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("half a report: %v", err)
	}
	if err := os.Remove(wait); err != nil {
		t.Fatal(err)
	}

	again := w.run(t)
	if _, err := again.Do(t.Context()); err == nil || !strings.Contains(err.Error(), "--resume") {
		t.Errorf("begun anew over what was measured: %v", err)
	}
	again.Resume = true
	again.Version = []Version{{"taproom", "v2"}}
	if _, err := again.Do(t.Context()); err == nil || !strings.Contains(err.Error(), "another build") {
		t.Errorf("another build went on: %v", err)
	}
	again.Version = run.Version
	var kept []string
	again.Say = func(p Progress) {
		if p.Kept {
			kept = append(kept, p.Part)
		}
	}
	r, err := again.Do(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if got, want := w.log(t), []string{"api", "many"}; !slices.Equal(got, want) {
		t.Errorf("ran %v, want what was not measured, %v", got, want)
	}
	if want := []string{"start", "names"}; !slices.Equal(kept, want) || len(r.Parts) != 4 || r.count(Measured) != 3 {
		t.Errorf("kept %v, want %v, of %d parts", kept, want, len(r.Parts))
	}
}

func TestOnlyPartsThatThereAreCanBeAskedFor(t *testing.T) {
	t.Parallel()
	if _, err := choose(Parts(), []string{"start", "nothing"}); err == nil || !strings.Contains(err.Error(), `"nothing"; there are start, api`) {
		t.Errorf("error %v", err)
	}
	for _, p := range slices.Concat(Parts(), TurnParts()) {
		if p.about() == "" {
			t.Errorf("%s is a part of no benchmark: %q", p.Name, p.Member)
		}
	}
}

func TestAQuickRunIsPlannedForTwentyMinutes(t *testing.T) {
	t.Parallel()
	if left := newEstimate(Parts(), true).remaining(); left > 20*time.Minute {
		t.Errorf("%v", left)
	}
}

func TestTheTimeLeftFollowsThePaceOfTheMachine(t *testing.T) {
	t.Parallel()
	parts := []Part{{Name: "a", Quick: size{takes: 10 * time.Second}}, {Name: "b", Quick: size{takes: 20 * time.Second}}, {Name: "c", Quick: size{takes: 30 * time.Second}}}
	e := newEstimate(parts, true)
	now := e.began
	e.now = func() time.Time { return now }
	check := func(want time.Duration) {
		t.Helper()
		if got := e.remaining(); got != want {
			t.Errorf("%v left, want %v", got, want)
		}
	}
	check(time.Minute)
	e.ended(0, 1, true) // an earlier run kept it
	check(50 * time.Second)
	e.ended(1, 40, false) // twice as slow
	check(time.Minute)
	now = now.Add(45 * time.Second)
	check(15 * time.Second)
	now = now.Add(45 * time.Second)
	check(0)
}
