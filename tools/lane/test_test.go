package main

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

// gotestsum is the pinned one, built once.
var gotestsum = sync.OnceValues(func() (string, error) {
	dir, err := os.MkdirTemp("", "lane-gotestsum-")
	if err != nil {
		return "", err
	}
	binary := filepath.Join(dir, "gotestsum")
	if out, err := exec.Command("go", "build", "-o", binary, "gotest.tools/gotestsum").CombinedOutput(); err != nil {
		return "", errors.Join(err, errors.New(string(out)))
	}
	return binary, nil
})

func TestMain(m *testing.M) {
	if len(os.Args) == 3 && os.Args[1] == "burn" { // a child of soak
		if err := burn(os.Args[2]); err != nil {
			panic(err)
		}
		return
	}
	code := m.Run()
	if binary, err := gotestsum(); err == nil {
		_ = os.RemoveAll(filepath.Dir(binary))
	}
	os.Exit(code)
}

// write writes files below root.
func write(t *testing.T, root string, files map[string]string) {
	t.Helper()
	for name, text := range files {
		path := filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

const (
	head = "package p\n\nimport (\n\t\"os\"\n\t\"testing\"\n)\n\n"
	// once fails the first time that it is called with a name.
	once  = "func once(t *testing.T, name string) {\n\tif _, err := os.Stat(name); err != nil {\n\t\t_ = os.WriteFile(name, nil, 0o600)\n\t\tt.Fatal(\"not yet\")\n\t}\n}\n"
	flaky = head + once + "func TestFlaky(t *testing.T) { once(t, \"ran\") }\n"
	fine  = "func TestFine(t *testing.T) { _ = os.Args }\n"
)

func TestLane_AFailedTestCountsUnlessItPassesTwiceAlone(t *testing.T) {
	t.Parallel()
	binary, err := gotestsum()
	if err != nil {
		t.Fatal(err)
	}
	six := head + once
	for _, n := range []string{"A", "B", "C", "D", "E", "F"} {
		six += "func Test" + n + "(t *testing.T) { once(t, \"" + n + "\") }\n"
	}
	for name, c := range map[string]struct {
		test   string
		must   string
		fails  bool
		prints []string
	}{
		"a test that passes": {test: head + fine, prints: []string{"=== the 10 slowest tests", "sample/p TestFine"}},
		"a test that fails once": {
			test: flaky, prints: []string{"FLAKE sample/p TestFlaky: p_test.go:11: not yet"},
		},
		"the same in a package that never reruns": {
			test: flaky, must: "p # data\n", fails: true, prints: []string{"FAILED sample/p TestFlaky: p_test.go:11: not yet (a test of this package"},
		},
		"a subtest that fails once": {
			test:   head + once + "func TestRoot(t *testing.T) {\n\tt.Run(\"fine\", func(t *testing.T) { t.Log(\"fine\") })\n\tt.Run(\"sub\", func(t *testing.T) { once(t, \"ran\") })\n}\n",
			prints: []string{"FLAKE sample/p TestRoot: p_test.go:11: not yet"},
		},
		"a test that always fails": {
			test: head + fine + "func TestBad(t *testing.T) { t.Fatal(\"never\") }\n", fails: true,
			prints: []string{"FAILED sample/p TestBad: p_test.go:9: never; then, alone: p_test.go:9: never"},
		},
		"a test that passes only the second time alone": {
			test:  head + once + "func TestTwice(t *testing.T) {\n\tif _, err := os.Stat(\"a\"); err == nil {\n\t\tonce(t, \"b\")\n\t}\n\tonce(t, \"a\")\n}\n",
			fails: true, prints: []string{"FAILED sample/p TestTwice: p_test.go:11: not yet; then, alone: p_test.go:11: not yet"},
		},
		"a test that is skipped when it is alone": {
			test:  head + "func TestSkips(t *testing.T) {\n\tif _, err := os.Stat(\"a\"); err == nil {\n\t\tt.Skip(\"no\")\n\t}\n\t_ = os.WriteFile(\"a\", nil, 0o600)\n\tt.Fatal(\"not yet\")\n}\n",
			fails: true, prints: []string{"it passed 0 times of 2"},
		},
		"a panic": {
			test:  head + "func TestPanic(t *testing.T) {\n\tif _, err := os.Stat(\"a\"); err != nil {\n\t\t_ = os.WriteFile(\"a\", nil, 0o600)\n\t\tpanic(\"once\")\n\t}\n}\n",
			fails: true, prints: []string{"FAILED sample/p: panic: once"},
		},
		"a process that ends in a test": {
			test:  head + "func TestExit(t *testing.T) {\n\tif _, err := os.Stat(\"a\"); err != nil {\n\t\t_ = os.WriteFile(\"a\", nil, 0o600)\n\t\tos.Exit(3)\n\t}\n}\n",
			fails: true, prints: []string{"FAILED sample/p: the test binary ended during TestExit"},
		},
		"a leak that TestMain reports once": {
			test: head + fine + "func TestMain(m *testing.M) {\n\tcode := m.Run()\n\tif _, err := os.Stat(\"a\"); err != nil {\n\t\t_ = os.WriteFile(\"a\", nil, 0o600)\n" +
				"\t\tprintln(\"goroutines left\")\n\t\tcode = 1\n\t}\n\tos.Exit(code)\n}\n",
			fails: true, prints: []string{"FAILED sample/p: failed without a failed test: goroutines left"},
		},
		"a build that fails": {
			test: head + "func TestX(t *testing.T) { undefined(os.Args) }\n", fails: true, prints: []string{"FAILED sample/p: build failed: p/p_test.go:8:28: undefined: undefined"},
		},
		"six tests that fail once": {test: six, fails: true, prints: []string{"FAILED 6 tests failed; up to 5 are run again"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			root := t.TempDir()
			write(t, root, map[string]string{
				"go.mod": "module sample\n\ngo 1.26\n", machinesFile: "# none\n", mustFile: c.must, "p/p_test.go": c.test,
				"q/q_test.go": strings.Replace(head+fine, "package p", "package q", 1),
			})
			var out bytes.Buffer
			err := runTest(t.Context(), &out, []string{"-repo", root, "-gotestsum", binary})
			if errors.Is(err, errFailed) != c.fails || err != nil && !errors.Is(err, errFailed) {
				t.Errorf("the lane's error is %v, want failed: %t", err, c.fails)
			}
			for _, p := range c.prints {
				if !strings.Contains(out.String(), p) {
					t.Errorf("the lane does not print %q", p)
				}
			}
			if flake := strings.Contains(out.String(), "FLAKE"); flake && c.fails {
				t.Error("the lane prints a flake beside a failure")
			}
			if t.Failed() {
				t.Log(out.String())
			}
		})
	}
}

func TestLane_PackagesWithMachinesRunOneAfterAnother(t *testing.T) {
	t.Parallel()
	binary, err := gotestsum()
	if err != nil {
		t.Fatal(err)
	}
	// Each makes the folder "busy" for as long as it runs, and fails when another has it.
	source := "package p\n\nimport (\n\t\"os\"\n\t\"testing\"\n\t\"time\"\n)\n\nfunc TestX(t *testing.T) {\n\tif err := os.Mkdir(\"../busy\", 0o700); err != nil {\n\t\tt.Fatal(err)\n\t}\n" +
		"\ttime.Sleep(300 * time.Millisecond)\n\tif err := os.Remove(\"../busy\"); err != nil {\n\t\tt.Fatal(err)\n\t}\n}\n"
	root := t.TempDir()
	write(t, root, map[string]string{
		"go.mod": "module sample\n\ngo 1.26\n", machinesFile: "a\nb\nc\n", mustFile: "a\nb\nc\n",
		"a/a_test.go": source, "b/b_test.go": source, "c/c_test.go": source,
	})
	var out bytes.Buffer
	if err := runTest(t.Context(), &out, []string{"-repo", root, "-gotestsum", binary}); err != nil {
		t.Errorf("%v\n%s", err, out.String())
	}
}

func TestLane_AListWithAMissingFolderIsRefused(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	write(t, root, map[string]string{
		"go.mod": "module sample\n\ngo 1.26\n", machinesFile: "# none\n", mustFile: "\ngone # data\n", "p/p_test.go": head + fine,
	})
	err := runTest(t.Context(), &bytes.Buffer{}, []string{"-repo", root})
	if want := "tools/lane/must.txt:2: there is no folder gone; remove the line or correct it"; err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
}
