package build

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"taproom/internal/appliance/kernel/kerneltest"
)

func fakeAgent(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "agent")
	if err := os.WriteFile(path, []byte("\x7fELF"+text), 0o755); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestFilesAreMadeOnceAndFoundWithoutAnyProgram(t *testing.T) {
	log := kerneltest.FakeApt(t, "machine")
	o := Options{CacheDir: t.TempDir(), AgentPath: fakeAgent(t, "1"), Which: Distribution}
	first, err := Ensure(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", "")
	var said []string
	o.Progress = func(what string) { said = append(said, what) }
	again, err := Ensure(t.Context(), o)
	if err != nil || len(said) != 0 {
		t.Errorf("the second time: %v, saying %q", err, said)
	}
	if diff := cmp.Diff(first, again); diff != "" {
		t.Errorf("the second time (-first +second):\n%s", diff)
	}
	if b, err := os.ReadFile(log); err != nil || strings.Count(string(b), "download") != 1 {
		t.Errorf("apt was asked:\n%s%v", b, err)
	}
	if cold := strings.Join(first.Cmdline, " "); !strings.Contains(cold, "nolapic_timer") || strings.Contains(strings.Join(first.TemplateCmdline, " "), "nolapic_timer") {
		t.Errorf("command lines %q and %q: a template has its timer, what is booted has not", first.Cmdline, first.TemplateCmdline)
	}
}

func TestAnotherAgentHasOtherFilesAndTheFirstOnesStayADay(t *testing.T) {
	kerneltest.FakeApt(t, "machine")
	o := Options{CacheDir: t.TempDir(), AgentPath: fakeAgent(t, "1")}
	first, err := Ensure(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	o.AgentPath = fakeAgent(t, "2")
	second, err := Ensure(t.Context(), o)
	if err != nil || second.Key == first.Key || second.Initrd == first.Initrd {
		t.Fatalf("%+v, %v, want other files than %+v", second, err, first)
	}
	if _, err := os.Stat(first.Initrd); err != nil {
		t.Errorf("what the other program may be about to open: %v", err)
	}
	long := time.Now().Add(-2 * unusedFor)
	if err := os.Chtimes(first.Initrd, long, long); err != nil {
		t.Fatal(err)
	}
	if _, err := Ensure(t.Context(), o); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(first.Initrd); err == nil {
		t.Error("what nobody used for two days was kept")
	}
}

func TestMissingAgentIsNamed(t *testing.T) {
	t.Parallel()
	_, err := Ensure(t.Context(), Options{CacheDir: t.TempDir()})
	if err == nil || !strings.Contains(err.Error(), "taproom-init") {
		t.Errorf("got %v, want an error that names the program that is missing", err)
	}
}
