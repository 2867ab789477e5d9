package cli_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"taproom/internal/cli"
	"taproom/internal/daemon/daemontest"
	"taproom/internal/engine"
	"taproom/internal/host/hosttest"
	"taproom/internal/qemu"
)

func TestMain(m *testing.M) {
	daemontest.Serve()
	testscript.Main(checked{m}, map[string]func(){
		"taproom": func() { os.Exit(cli.Main(context.Background(), cli.NewEnv(), os.Args[1:])) },
	})
}

// checked fails tests that leave goroutines or descriptors.
type checked struct{ m *testing.M }

func (c checked) Run() int { return hosttest.Run(c.m) }

// update is set in the environment to write what the scripts compare with anew.
var update = os.Getenv("TAPROOM_UPDATE") != ""

// scripts runs each script of a folder as a test of its own.
func scripts(t *testing.T, folder string, run func(t *testing.T, p testscript.Params)) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join("testdata", folder, "*.txtar"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no scripts in testdata/%s: %v", folder, err)
	}
	for _, f := range files {
		t.Run(strings.TrimSuffix(filepath.Base(f), ".txtar"), func(t *testing.T) {
			t.Parallel()
			run(t, testscript.Params{Files: []string{f}, UpdateScripts: update, RequireExplicitExec: false, RequireUniqueNames: true})
		})
	}
}

// fails CODE PROGRAM… runs a program that has to end with that code.
func fails(ts *testscript.TestScript, _ bool, args []string) {
	err := ts.Exec(args[1], args[2:]...)
	var exit *exec.ExitError
	if !errors.As(err, &exit) || strconv.Itoa(exit.ExitCode()) != args[0] {
		ts.Fatalf("%q ended with %v, want exit code %s", args[1:], err, args[0])
	}
}

// The scripts in testdata/plain need no daemon.
func TestCommandLineWithoutADaemon(t *testing.T) {
	t.Parallel()
	scripts(t, "plain", func(t *testing.T, p testscript.Params) {
		p.Setup = func(e *testscript.Env) error {
			e.Setenv("ROOT", filepath.Join(e.WorkDir, "root"))
			return nil
		}
		p.Cmds = map[string]func(*testscript.TestScript, bool, []string){"fails": fails}
		testscript.Run(t, p)
	})
}

// The scripts in testdata/daemon have a daemon of their own, in a network namespace of its own, below $ROOT:
//
//	fails CODE PROGRAM…      runs a program that has to end with that code
//	inside PROGRAM…          runs a program in the namespace
//	daemon stop|start|kill   ends it, lets it start again, or crash
//	heal off                 has the daemon leave what others do to links and rules, once it starts again
//	plain stdout|stderr FILE writes what was printed last to FILE, without what differs from run to run
//	empty                    fails when anything of a guest or a network is left
//	[kvm]                    KVM works here
func TestCommandLineWithADaemon(t *testing.T) {
	t.Parallel()
	scripts(t, "daemon", func(t *testing.T, p testscript.Params) {
		d := daemontest.New(t)
		p.Setup = func(e *testscript.Env) error {
			e.Setenv("ROOT", d.Root)
			e.Setenv("PROGRAMS", d.Programs()) // with what is to be beside taproom
			return nil
		}
		p.Condition = func(cond string) (bool, error) {
			if cond == "kvm" {
				return qemu.ProbeKVM(t.Context(), d.NS.Kernel()).Usable, nil
			}
			return false, fmt.Errorf("there is no condition %q", cond)
		}
		p.Cmds = map[string]func(*testscript.TestScript, bool, []string){
			"fails":  fails,
			"inside": func(ts *testscript.TestScript, neg bool, args []string) { inside(ts, d, neg, args) },
			"daemon": func(ts *testscript.TestScript, _ bool, args []string) { control(ts, d, args) },
			"heal": func(ts *testscript.TestScript, _ bool, _ []string) {
				dir := d.Paths().Config
				ts.Check(os.MkdirAll(dir, 0o755))
				ts.Check(os.WriteFile(filepath.Join(dir, "taproomd.toml"), []byte("heal_links = false\nheal_firewall = false\nnft_owned_tables = false\n"), 0o644))
			},
			"plain": func(ts *testscript.TestScript, _ bool, args []string) { plain(ts, d, args) },
			"empty": func(ts *testscript.TestScript, _ bool, _ []string) {
				if left := d.Leftovers(); len(left) > 0 {
					ts.Fatalf("left behind:\n%s", strings.Join(left, "\n"))
				}
			},
		}
		testscript.Run(t, p)
	})
}

func inside(ts *testscript.TestScript, d *daemontest.Daemon, neg bool, args []string) {
	out, err := d.NS.Try(args[0], args[1:]...)
	_, _ = fmt.Fprint(ts.Stdout(), out) // into memory
	if err != nil && !neg {
		ts.Fatalf("%v", err)
	}
	if err == nil && neg {
		ts.Fatalf("%q did not fail", args)
	}
}

func control(ts *testscript.TestScript, d *daemontest.Daemon, args []string) {
	switch args[0] {
	case "stop":
		ts.Check(d.Stop())
	case "kill":
		d.Kill()
	case "start":
		ts.Check(d.Start())
	default:
		ts.Fatalf("daemon %s: want stop, start or kill", args[0])
	}
}

var (
	tapName = regexp.MustCompile(`\bvnet[0-9]+\b`)
	spaces  = regexp.MustCompile(` +\n`)
)

// plain takes out what belongs to this run: the daemon's root and what is derived from it, and numbers of taps.
func plain(ts *testscript.TestScript, d *daemontest.Daemon, args []string) {
	id := engine.NewIdentity(d.Root)
	text := strings.NewReplacer(
		d.Root, "$ROOT", id.Table, "taproom-TABLE", strconv.Itoa(int(id.LinkGroup)), "GROUP",
	).Replace(ts.ReadFile(args[0]))
	text = tapName.ReplaceAllString(text, "vnetN")
	text = spaces.ReplaceAllString(text, "\n")
	ts.Check(os.WriteFile(ts.MkAbs(args[1]), []byte(text), 0o600))
}
