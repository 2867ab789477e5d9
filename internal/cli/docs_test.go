package cli_test

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/testscript"

	"taproom/internal/appliance"
	"taproom/internal/cli"
	"taproom/internal/daemon/daemontest"
)

// built makes dir look like a clone in which `make build` has run, and makes the guest that the examples boot.
func built(t *testing.T, dir string) {
	t.Helper()
	programs := daemontest.Programs(t)
	if _, err := appliance.Ensure(t.Context(), appliance.Options{AgentPath: filepath.Join(programs, "taproom-agent")}); err != nil {
		t.Fatal(err)
	}
	examples, err := filepath.Abs("../../examples")
	if err != nil {
		t.Fatal(err)
	}
	for name, to := range map[string]string{"bin": programs, "examples": examples} {
		if err := os.Symlink(to, filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
}

// The scripts in testdata/docs hold every command of the documents; tools/repocheck compares them. [tools] is where the appliance's tools have
// been made: `make appliance` sets TAPROOM_APPLIANCE.
func TestCommandsInTheDocumentsWork(t *testing.T) {
	t.Parallel()
	scripts(t, "docs", func(t *testing.T, p testscript.Params) {
		root, err := os.MkdirTemp("", "tr-") // short: unix sockets have 107 bytes
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = os.RemoveAll(root) })
		t.Cleanup(func() { stopPools(t, filepath.Join(root, "pool")) })
		if err := os.Chmod(root, 0o755); err != nil { // guests' QEMU walks through it
			t.Fatal(err)
		}
		p.Setup = func(e *testscript.Env) error {
			built(t, e.WorkDir)
			e.Setenv("ROOT", root)
			return nil
		}
		p.Cmds = map[string]func(*testscript.TestScript, bool, []string){"fails": fails}
		p.Condition = func(cond string) (bool, error) {
			if cond != "tools" {
				return false, fmt.Errorf("there is no condition %q", cond)
			}
			return os.Getenv("TAPROOM_APPLIANCE") != "", nil
		}
		testscript.Run(t, p)
	})
}

// stopPools ends the pools that a script which failed has left in its folder.
func stopPools(t *testing.T, dir string) {
	t.Helper()
	if left, err := os.ReadDir(dir); err != nil || !slices.ContainsFunc(left, func(e os.DirEntry) bool { return strings.HasSuffix(e.Name(), ".sock") }) {
		return
	}
	var said bytes.Buffer
	env := &cli.Env{Stdin: strings.NewReader(""), Stdout: &said, Stderr: &said}
	if code := cli.Main(context.WithoutCancel(t.Context()), env, []string{"appliance", "pool", "--dir", dir, "--stop"}); code != 0 {
		t.Errorf("stop the pools in %s: %s", dir, said.String())
	}
}

func TestTheReadmeShowsWhatTheDemonstrationPrints(t *testing.T) {
	t.Parallel()
	readme, err := os.ReadFile("../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	_, shown, ok := strings.Cut(string(readme), "\n\n```\n")
	shown, _, ok2 := strings.Cut(shown, "```\n")
	if !ok || !ok2 {
		t.Fatal("README.md shows no output")
	}
	dir := t.TempDir()
	built(t, dir)
	c := exec.Command("bin/taproom", "demo")
	c.Dir = dir
	out, err := c.CombinedOutput()
	if err != nil {
		t.Fatalf("taproom demo: %v\n%s", err, out)
	}
	printed, _, _ := strings.Cut(string(out), "\nTo keep a guest")
	if diff := cmp.Diff(shape(shown), shape(printed)); diff != "" {
		t.Errorf("README.md shows something else than `bin/taproom demo` prints; paste what it prints (-README +printed):\n%s", diff)
	}
}

var (
	number      = regexp.MustCompile(`[0-9]+`)
	gaps        = regexp.MustCompile(`[ █]+`)
	accelerator = regexp.MustCompile(`(?m)^  accelerator .*$`)
)

// shape is what does not differ from run to run: the lines, without numbers and bars. Which of two things began first may.
func shape(text string) []string {
	text = accelerator.ReplaceAllString(text, "  accelerator")
	text = gaps.ReplaceAllString(number.ReplaceAllString(text, "N"), " ")
	lines := strings.Split(strings.TrimSpace(text), "\n")
	for i := range lines {
		lines[i] = strings.TrimSpace(lines[i])
	}
	slices.Sort(lines)
	return lines
}
