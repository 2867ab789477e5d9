package main

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// repo writes files and loads them as a repo.
func repo(t *testing.T, files map[string]string) *tree {
	t.Helper()
	root := t.TempDir()
	for name, text := range files {
		path := filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	tr, err := load(root)
	if err != nil {
		t.Fatal(err)
	}
	return tr
}

// long is a function of n lines.
func long(n int) string { return "func f() {\n" + strings.Repeat("\t_ = 1\n", n-2) + "}\n" }

func TestEveryCheckFindsWhatItIsForAndNothingElse(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		check func(*tree) []string
		files map[string]string
		want  []string
	}{
		"an import that points up": {
			layers,
			map[string]string{"internal/host/a.go": "package host\n\nimport _ \"taproom/internal/engine/job\"\n"},
			[]string{"internal/host/a.go: host may not import taproom/internal/engine/job"},
		},
		"the public package where it is not for, and what it may not have": {
			layers,
			map[string]string{
				"internal/cli/a.go": "package cli\n\nimport _ \"taproom/disk\"\n", "internal/engine/a.go": "package engine\n\nimport _ \"taproom/disk/inspect\"\n",
				"disk/a.go": "package disk\n\nimport (\n\t_ \"taproom/disk/inspect\"\n\t_ \"taproom/internal/appliance/launch\"\n\t_ \"taproom/internal/host\"\n)\n",
			},
			[]string{"disk/a.go: disk may not import taproom/internal/host", "internal/engine/a.go: engine may not import taproom/disk/inspect"},
		},
		"imports that point down, and those of tests": {
			layers,
			map[string]string{
				"internal/qemu/a.go":                 "package qemu\n\nimport (\n\t_ \"taproom/internal/host\"\n\t_ \"taproom/internal/version\"\n)\n",
				"internal/qemu/a_test.go":            "package qemu\n\nimport _ \"taproom/internal/engine\"\n",
				"internal/daemon/daemontest/help.go": "package daemontest\n\nimport _ \"taproom/internal/cli\"\n",
			},
			nil,
		},
		"a room nobody knows": {
			layers,
			map[string]string{"internal/attic/a.go": "package attic\n", "internal/attic/b.go": "package attic\n"},
			[]string{"internal/attic: the room is in no layer: add it to tools/repocheck, .golangci.yml and ARCHITECTURE.md"},
		},
		"waits in seconds where machines are emulated": {
			waits,
			map[string]string{
				"internal/daemon/x/a_test.go": "package x\n\nimport _ \"taproom/internal/daemon/daemontest\"\n\nconst patience = 3 * time.Minute\n\nfunc f() {\n" +
					"\tcontext.WithTimeout(ctx, patience)\n\tcontext.WithTimeout(ctx, 100*time.Millisecond)\n\t<-time.After(2 * time.Second)\n" +
					"\tc.SetDeadline(time.Now().Add(time.Second)) // wait: it is asked again\n\tc.SetDeadline(time.Now().Add((1 + 2) * time.Minute)) // wait:\n" +
					"\tc.SetDeadline(time.Now().Add(2 * emutest.Patience()))\n\treturn took > time.Minute\n}\n",
				"internal/daemon/x/b_test.go":        "package x\n\nfunc g() { net.DialTimeout(n, a, 2*patience) }\n",
				"internal/daemon/x/a.go":             "package x\n\nfunc h() { <-time.After(time.Minute) }\n",
				"internal/network/y_test.go":         "package network\n\nfunc f() { <-time.After(time.Minute) }\n",
				"internal/daemon/daemontest/help.go": "package daemontest\n\nfunc f() { <-time.After(time.Minute) }\n",
				"internal/qemu/emutest/patience.go":  "package emutest\n\nimport _ \"taproom/internal/host\"\n\nfunc f() { <-time.After(time.Minute) }\n",
			},
			[]string{
				"internal/daemon/daemontest/help.go:3: a wait in absolute seconds; use emutest, or say // wait: reason",
				"internal/daemon/x/a_test.go:10: a wait in absolute seconds; use emutest, or say // wait: reason",
				"internal/daemon/x/a_test.go:12: a wait in absolute seconds; use emutest, or say // wait: reason",
				"internal/daemon/x/a_test.go:14: a wait in absolute seconds; use emutest, or say // wait: reason",
				"internal/daemon/x/a_test.go:8: a wait in absolute seconds; use emutest, or say // wait: reason",
				"internal/daemon/x/b_test.go:3: a wait in absolute seconds; use emutest, or say // wait: reason",
			},
		},
		"a function that is too long": {
			sizes,
			map[string]string{"internal/host/a.go": "package host\n\n" + long(101), "internal/host/b.go": "package host\n\n" + long(100)},
			[]string{"internal/host/a.go: f has 101 lines, more than 100"},
		},
		"a file that is too long": {
			sizes,
			map[string]string{"cmd/x/main.go": "package main\n" + strings.Repeat("\n", 400)},
			[]string{"cmd/x/main.go: 401 lines, more than 400"},
		},
		"exports without a comment": {
			documented,
			map[string]string{
				"internal/host/a.go":      "package host\n\ntype T int\n\nfunc (T) M() {}\n\nfunc (T) String() string { return \"\" }\n\nconst C = 1 // said\n\nvar v = 2\n",
				"internal/host/a_test.go": "package host\n\nfunc TestX() {}\n",
			},
			[]string{"internal/host/a.go: T has no comment", "internal/host/a.go: M has no comment"},
		},
		"habits that hide flakiness": {
			habits,
			map[string]string{
				"internal/host/a.go":      "package host\n\nfunc init() {}\n\nfunc f() { time.Sleep(1); g(context.Background()) }\n\nfunc h() { k(a{Pdeathsig: 9}) }\n",
				"internal/host/a_test.go": "package host\n\nfunc g() { h(context.Background()); time.Sleep(1) }\n",
				"cmd/x/main.go":           "package main\n\nfunc main() { f(context.Background()) }\n",
			},
			[]string{
				"/internal/host/a.go:3:1: an init function; let the caller ask for it",
				"/internal/host/a.go:5:12: time.Sleep waits for nothing; wait for the event, with a context",
				"/internal/host/a.go:5:29: context.Background below cmd/; take the caller's context",
				"/internal/host/a.go:7:16: Pdeathsig is of the thread that made the child; sandbox.StartTied or hosttest's StartTied keep it",
				"/internal/host/a_test.go:3:37: time.Sleep waits for nothing; wait for the event, with a context",
			},
		},
		"skips that nothing lifts": {
			skips,
			map[string]string{
				"internal/host/a_test.go": "package host\n\nfunc TestA(t *testing.T) { if err != nil { t.Skip(err) } }\n\n" +
					"func TestB(t *testing.T) {\n\tt.Skipf(\"dig is missing (Debian: bind9-dnsutils): %v\", err)\n\tt.Run(\"\", func(t *testing.T) { t.Skip(\"not today\") })\n" +
					"\teach(func(i int) { t.SkipNow() })\n\trapid.Check(t, func(t *rapid.T) { t.Skip(\"odd\") })\n\tt.Skipped()\n}\n\n" +
					"func FuzzC(f *testing.F) { f.Fuzz(func(t *testing.T, b []byte) { t.Skip() }) }\n",
				needs: "package hosttest\n\nfunc Needs(t testing.TB) { t.Skipf(\"%v\", err) }\n",
			},
			[]string{
				"/internal/host/a_test.go:3:44: a skip that nothing lifts: say what to install or to run, or let hosttest.Needs say which kernel",
				"/internal/host/a_test.go:7:33: a skip that nothing lifts: say what to install or to run, or let hosttest.Needs say which kernel",
				"/internal/host/a_test.go:8:21: a skip that nothing lifts: say what to install or to run, or let hosttest.Needs say which kernel",
			},
		},
		"a generated file that nobody can generate": {
			generated,
			map[string]string{"internal/host/a.go": "// Code generated by hand. DO NOT EDIT.\n\npackage host\n"},
			[]string{"[internal/host/a.go]: generated, but no go:generate comment says how"},
		},
		"promises that nothing holds": {
			promises,
			map[string]string{
				"PROMISES.md":              "| what | how |\n| --- | --- |\n| a | `TestHeld` |\n| b | `TestGone` |\n| c | `make bench` |\n| d | `make nothing` |\n| e | `taproom bench start` |\n| g | `taproom bench speed` |\n| f | trust |\n",
				"Makefile":                 "bench: build\n",
				"internal/bench/member.go": "package bench\n\nvar members = []Member{\n\t{Name: \"start\"},\n}\n",
				"internal/host/a_test.go":  "package host\n\nfunc TestHeld() {}\n",
			},
			[]string{
				"PROMISES.md: no test, benchmark or command holds: | b | `TestGone` |",
				"PROMISES.md: no test, benchmark or command holds: | d | `make nothing` |",
				"PROMISES.md: no test, benchmark or command holds: | g | `taproom bench speed` |",
				"PROMISES.md: no test, benchmark or command holds: | f | trust |",
			},
		},
		"commands that no test runs": {
			documents,
			map[string]string{
				"README.md":                          "```sh\nmake run\nbin/tap up  # start\n```\n\n```\nnot a command\n```\n",
				"CONTRIBUTING.md":                    "```sh\nmake gone\nbin/tap u\n```\n",
				"ARCHITECTURE.md":                    "As `make run` does, and `make nothing X=1`.\n",
				"PROMISES.md":                        "",
				"Makefile":                           ".PHONY: run\nrun: build\n",
				"internal/cli/testdata/docs/a.txtar": "bin/tap up\n",
			},
			[]string{"CONTRIBUTING.md: no test runs: make gone", "CONTRIBUTING.md: no test runs: bin/tap u", "ARCHITECTURE.md: speaks of make nothing, and there is no such target"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			tr := repo(t, c.files)
			got := c.check(tr)
			for i := range got {
				got[i] = strings.TrimPrefix(got[i], tr.root)
			}
			if !slices.Equal(got, c.want) {
				t.Errorf("complaints:\n%s\nwant:\n%s", strings.Join(got, "\n"), strings.Join(c.want, "\n"))
			}
		})
	}
}

// config is a .golangci.yml that says what the table says, with one rule replaced.
func config(room, rule string) string {
	var b strings.Builder
	b.WriteString("linters:\n  settings:\n    depguard:\n      rules:\n")
	for name, allowed := range below {
		list := []string{packageOf(name), module + "version"}
		for _, a := range allowed {
			list = append(list, packageOf(a))
		}
		slices.Sort(list)
		text := fmt.Sprintf("{files: [\"**/%s/**\"], list-mode: lax, allow: [%s], deny: [{pkg: taproom, desc: d}]}",
			folderOf(name), strings.Join(slices.Compact(list), ", "))
		if name == room {
			text = rule
		}
		fmt.Fprintf(&b, "        %s: %s\n", name, text)
	}
	return b.String()
}

func TestTheLintersLayersMustBeTheseLayers(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ text, want string }{
		"the same":               {config("", ""), ""},
		"one more room":          {config("host", `{files: ["**/internal/host/**"], list-mode: lax, allow: [taproom/internal/host, taproom/internal/spec, taproom/internal/version], deny: [{pkg: taproom}]}`), "depguard host: want"},
		"a rule for other files": {config("host", `{files: ["**/host/**"], list-mode: lax, allow: [taproom/internal/host, taproom/internal/version], deny: [{pkg: taproom}]}`), "depguard host: want"},
		"a description cut in two by its comma": {
			config("host", `{files: ["**/internal/host/**"], list-mode: lax, allow: [taproom/internal/host, taproom/internal/version], deny: [{pkg: taproom, desc: one, two}]}`),
			"quote the description",
		},
		"no YAML": {"linters: [", "yaml"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := strings.Join(depguard(repo(t, map[string]string{".golangci.yml": c.text})), "\n")
			if (c.want == "") != (got == "") || !strings.Contains(got, c.want) {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}

func TestARoomIsDescribedWithItsImports(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	for name, allowed := range below {
		list := strings.Join(allowed, ", ")
		switch {
		case name == "engine":
			continue
		case name == "guest":
			list = "host"
		case list == "":
			list = "none of ours"
		}
		fmt.Fprintf(&b, "### `%s`\n\nIt is a room.\n\nImports: %s.\n\n", folderOf(name), list)
	}
	b.WriteString("### `internal/attic`\n")
	want := []string{
		"ARCHITECTURE.md: ### `internal/engine` wants a line \"Imports: api, appliance, guest, host, image, network, qemu, spec.\"; it has \"\"",
		"ARCHITECTURE.md: ### `internal/guest` wants a line \"Imports: host, qemu, spec.\"; it has \"host.\"",
		"ARCHITECTURE.md: there is no room internal/attic",
	}
	if got := architecture(repo(t, map[string]string{"ARCHITECTURE.md": b.String()})); !slices.Equal(got, want) {
		t.Errorf("complaints:\n%s\nwant:\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

func TestAStaleGeneratedFileIsFound(t *testing.T) {
	t.Parallel()
	files := map[string]string{
		"go.mod":               "module taproom\n\ngo 1.26\n",
		"internal/host/doc.go": "// Package host is one.\npackage host\n\n//go:generate sh -c \"printf '// Code generated by sh. DO NOT EDIT.\\n\\npackage host\\n' >a.go\"\n",
		"internal/host/a.go":   "// Code generated by sh. DO NOT EDIT.\n\npackage host\n",
	}
	if got := generated(repo(t, files)); got != nil {
		t.Errorf("complaints about a fresh file: %q", got)
	}
	files["internal/host/a.go"] += "\n// An edit.\n"
	want := []string{"internal/host/a.go: generating it again changes it; run go generate ./... and commit"}
	if got := generated(repo(t, files)); !slices.Equal(got, want) {
		t.Errorf("complaints %q, want %q", got, want)
	}
}

func TestSummaryCountsHelperPackagesAsTests(t *testing.T) {
	t.Parallel()
	got := repo(t, map[string]string{
		"cmd/x/main.go":                "package main\n\n" + long(4),
		"internal/host/a.go":           "package host\n\n" + long(2),
		"internal/host/hosttest/ns.go": "package hosttest\n\n" + long(6),
	}).summary()
	want := `files      2, median 6 lines, longest 6
functions  2, median 4 lines, 9 of 10 below 4, longest 4
test:code  0.80  (8 : 10 lines)
  cmd       0.00  (0 : 6 lines)
  host      2.00  (8 : 4 lines)
`
	if got != want {
		t.Errorf("summary:\n%s\nwant:\n%s", got, want)
	}
}
