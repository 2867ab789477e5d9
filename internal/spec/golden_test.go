package spec

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"
)

var update = flag.Bool("update", false, "write formatted.xml of the golden files anew")

// golden is one testdata file: a document and what becomes of it.
type golden struct {
	path      string
	archive   *txtar.Archive
	input     []byte
	formatted []byte
}

func goldens(tb testing.TB, kind string) []golden {
	tb.Helper()
	paths, err := filepath.Glob("testdata/" + kind + "/*.txtar")
	if err != nil || len(paths) == 0 {
		tb.Fatalf("no golden files for %s: %v", kind, err)
	}
	var out []golden
	for _, p := range paths {
		a, err := txtar.ParseFile(p)
		if err != nil {
			tb.Fatal(err)
		}
		g := golden{path: p, archive: a}
		for _, f := range a.Files {
			switch f.Name {
			case "input.xml":
				g.input = f.Data
			case "formatted.xml":
				g.formatted = f.Data
			}
		}
		out = append(out, g)
	}
	return out
}

// check compares got with the golden text, or writes it.
func (g *golden) check(t *testing.T, got []byte) {
	t.Helper()
	if *update {
		for i := range g.archive.Files {
			if g.archive.Files[i].Name == "formatted.xml" {
				g.archive.Files[i].Data = got
			}
		}
		if err := os.WriteFile(g.path, txtar.Format(g.archive), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if diff := cmp.Diff(strings.Split(string(g.formatted), "\n"), strings.Split(string(got), "\n")); diff != "" {
		t.Errorf("%s (-want +got):\n%s", g.path, diff)
	}
}

func TestDomainsAreWrittenInLibvirtsLayoutAndLoseNothing(t *testing.T) {
	t.Parallel()
	for _, g := range goldens(t, "domain") {
		d, err := ParseDomain(g.input)
		if err != nil {
			t.Errorf("%s: %v", g.path, err)
			continue
		}
		if err := d.Validate(); err != nil {
			t.Errorf("%s: %v", g.path, err)
		}
		out := d.Format()
		g.check(t, out)
		again, err := ParseDomain(out)
		if err != nil {
			t.Errorf("%s: reading what was written: %v", g.path, err)
			continue
		}
		if diff := cmp.Diff(string(out), string(again.Format())); diff != "" {
			t.Errorf("%s: a second round changes it:\n%s", g.path, diff)
		}
	}
}

func TestNetworksAreWrittenInLibvirtsLayoutAndLoseNothing(t *testing.T) {
	t.Parallel()
	for _, g := range goldens(t, "network") {
		n, err := ParseNetwork(g.input)
		if err != nil {
			t.Errorf("%s: %v", g.path, err)
			continue
		}
		if err := n.Validate(); err != nil {
			t.Errorf("%s: %v", g.path, err)
		}
		out := n.Format()
		g.check(t, out)
		again, err := ParseNetwork(out)
		if err != nil {
			t.Errorf("%s: reading what was written: %v", g.path, err)
			continue
		}
		if diff := cmp.Diff(string(out), string(again.Format())); diff != "" {
			t.Errorf("%s: a second round changes it:\n%s", g.path, diff)
		}
	}
}
