package main

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

const (
	measuredCounters = "# Renew with make.\n# Measured on 2026-01-10 with Linux 6.1.\nnic_attach.programs 0\nnic_attach.host_calls link get 2\n"
	// profile says that two functions of a.go, and the command line, were executed.
	profile = "mode: set\ntaproom/internal/host/a.go:3.16,3.27 1 1\ntaproom/internal/host/a.go:5.20,5.22 0 1\ntaproom/internal/host/a.go:7.15,7.17 0 0\ntaproom/internal/host/idle.go:3.16,5.2 1 0\ntaproom/internal/cli/a.go:3.1,4.2 1 1\n"
)

// sealed is a repo whose counters were just measured.
func sealed(t *testing.T) *tree {
	t.Helper()
	tr := repo(t, map[string]string{
		countersFile:               measuredCounters,
		"internal/host/a.go":       "package host\n\nfunc f() int { return 1 }\n\nfunc (*k[T]) f() {}\n\nfunc idle() {}\n",
		"internal/host/idle.go":    "package host\n\nfunc g() int { return 1 }\n",
		"internal/host/consts.go":  "package host\n\nconst c = 1\n",
		"internal/host/a_test.go":  "package host\n\nvar x = 1\n",
		"internal/spec/consts.go":  "package spec\n\nconst c = 1\n",
		"internal/cli/a.go":        "package cli\n\nfunc f() {}\n",
		confined + "/a.go":         "package launch\n\nfunc f() {}\n",
		"build/counted/profile":    profile,
		"internal/bench/a_test.go": "package bench\n",
	})
	if err := sealCounters(tr, filepath.Join(tr.root, "build/counted/profile")); err != nil {
		t.Fatal(err)
	}
	return tr
}

func TestCounters_AreStaleWhenCodeThatTheyCountChanged(t *testing.T) {
	t.Parallel()
	const stale = countersFile + ": stale: measured on 2026-01-10, and code that it counts has changed since: "
	for name, c := range map[string]struct {
		path, text string // "" removes the file
		changed    bool
	}{
		"nothing":                         {},
		"a comment and an empty line":     {path: "internal/host/a.go", text: "package host\n\n// f is.\n\nfunc f() int {\n\treturn 1 }\nfunc (*k[T]) f() {}\n"},
		"another function and an import":  {path: "internal/host/a.go", text: "package host\n\nimport _ \"os\"\n\nfunc f() int { return 1 }\n\nfunc (*k[T]) f() {}\n\nfunc idle() { f() }\n"},
		"a test":                          {path: "internal/host/a_test.go", text: "package host\n\nvar x = 2\n"},
		"code that was not executed":      {path: "internal/host/idle.go", text: "package host\n\nfunc g() int { return 2 }\n"},
		"a package without executed code": {path: "internal/spec/consts.go", text: "package spec\n\nconst c = 2\n"},
		"a room above the daemon":         {path: "internal/cli/a.go", text: "package cli\n\nvar x = 1\n"},
		"executed code":                   {path: "internal/host/a.go", text: "package host\n\nfunc f() int { return 2 }\n\nfunc (*k[T]) f() {}\n", changed: true},
		"an executed method":              {path: "internal/host/a.go", text: "package host\n\nfunc f() int { return 1 }\n\nfunc (*k[T]) f() { f() }\n", changed: true},
		"a type beside it":                {path: "internal/host/a.go", text: "package host\n\ntype t int\n\nfunc f() int { return 1 }\n\nfunc (*k[T]) f() {}\n", changed: true},
		"a constant beside it":            {path: "internal/host/consts.go", text: "package host\n\nconst c = 2\n", changed: true},
		"the way into confinement":        {path: confined + "/a.go", text: "package launch\n\nfunc f() { f() }\n", changed: true},
		"executed code that is gone":      {path: "internal/host/a.go", changed: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			tr := sealed(t)
			file := filepath.Join(tr.root, c.path)
			switch {
			case c.path == "":
			case c.text == "":
				if err := os.Remove(file); err != nil {
					t.Fatal(err)
				}
			default:
				if err := os.WriteFile(file, []byte(c.text), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			changed, err := load(tr.root)
			if err != nil {
				t.Fatal(err)
			}
			want := ""
			if c.changed {
				want = stale + c.path + "; make bench-counters shows the differences"
			}
			if notice, complaints := freshCounters(changed); notice != want || len(complaints) != 0 {
				t.Errorf("notice %q, complaints %q; want the notice %q alone", notice, complaints, want)
			}
		})
	}
}

func TestCounters_AreSealedByWhatWasExecuted(t *testing.T) {
	t.Parallel()
	tr := sealed(t)
	got, err := readSeal(tr.root)
	if err != nil {
		t.Fatal(err)
	}
	want := []counted{{"internal/host/a.go", []string{"f", "k.f"}}, {"internal/host/consts.go", []string{}}, {confined + "/a.go", []string{"f"}}}
	if !slices.EqualFunc(got, want, func(a sealedFile, b counted) bool { return a.path == b.path && slices.Equal(a.functions, b.functions) }) {
		t.Errorf("sealed %v, want %v", got, want)
	}
	for text, want := range map[string]string{
		"mode: set\nnonsense\n": `"nonsense" is no block`,
		"mode: set\n":           "no function of the rooms",
	} {
		file := filepath.Join(t.TempDir(), "profile")
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		empty := repo(t, map[string]string{confined + "/a.go": "package launch\n"})
		if err := sealCounters(empty, file); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("profile %q: %v, want an error with %q", text, err, want)
		}
	}
}

func TestCounters_NameFiveFilesThatChanged(t *testing.T) {
	t.Parallel()
	seal := ""
	for _, f := range []string{"a", "b", "c", "d", "e", "f", "g"} {
		seal += "internal/host/" + f + ".go 0123456789abcdef\n"
	}
	notice, _ := freshCounters(repo(t, map[string]string{countersFile: measuredCounters, sealFile: seal}))
	if !strings.Contains(notice, "internal/host/e.go and 2 more;") {
		t.Errorf("seven files are gone: %q", notice)
	}
}

func TestCounters_ThatAreMissingOrDamagedAreAComplaint(t *testing.T) {
	t.Parallel()
	const seal = "internal/host/a.go 0123456789abcdef\n"
	for name, c := range map[string]struct{ counters, seal, want string }{
		"no counts":              {"", seal, "no such file"},
		"no seal":                {measuredCounters, "", "no such file"},
		"no date":                {"nic_attach.programs 0\n", seal, "no line says when it was measured"},
		"a date and nothing":     {"# Measured on 2026-01-10 with Linux.\n", seal, "it holds no counts"},
		"no number":              {measuredCounters + "nic_attach.host_calls many\n", seal, `"nic_attach.host_calls many" is neither`},
		"a conflict of a merge":  {measuredCounters + "<<<<<<< HEAD\n", seal, `"<<<<<<< HEAD" is neither`},
		"a conflict in the seal": {measuredCounters, seal + "=======\n", `"=======" is no path, digest`},
		"an empty seal":          {measuredCounters, "# nothing\n", "it names no file"},
	} {
		files := map[string]string{"internal/host/a.go": "package host\n"}
		for file, text := range map[string]string{countersFile: c.counters, sealFile: c.seal} {
			if text != "" {
				files[file] = text
			}
		}
		_, complaints := freshCounters(repo(t, files))
		if len(complaints) != 1 || !strings.Contains(complaints[0], c.want) || !strings.HasSuffix(complaints[0], renewCounters) {
			t.Errorf("%s: complaints %q, want one with %q", name, complaints, c.want)
		}
	}
}

// TestCounters_CountAllRoomsOfADaemon finds a room that a daemon has come to import and the counters do not know.
func TestCounters_CountAllRoomsOfADaemon(t *testing.T) {
	t.Parallel()
	rooms := map[string]bool{}
	var add func(room string)
	add = func(room string) {
		rooms[room] = true
		for _, r := range below[room] {
			add(r)
		}
	}
	add("daemon")
	for room := range rooms {
		if !slices.Contains(countedRooms, room) {
			t.Errorf("countedRooms lack %s", room)
		}
	}
	if len(rooms) != len(countedRooms) {
		t.Errorf("countedRooms %v, want %v", countedRooms, rooms)
	}
}
