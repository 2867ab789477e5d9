package remote

import (
	"os"
	"path"
	"regexp"
	"strings"
	"testing"
)

// docs/api.md says what is not served, and why.
func TestWhatIsNotServedIsDocumented(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../../../docs/api.md")
	if err != nil {
		t.Fatal(err)
	}
	type row struct {
		text     string
		patterns []string
		covers   int
	}
	var rows []*row
	name := regexp.MustCompile("`([A-Z0-9_*]+)`")
	what, _, _ := strings.Cut(string(text), "\n## ") // the sections below have other tables
	for line := range strings.Lines(what) {
		cells := strings.Split(line, "|")
		if len(cells) != 5 || !strings.Contains(cells[1], "`") {
			continue
		}
		r := &row{text: cells[1]}
		for _, m := range name.FindAllStringSubmatch(cells[1], -1) {
			r.patterns = append(r.patterns, m[1])
		}
		rows = append(rows, r)
	}
	served := map[uint32]bool{}
	for _, p := range Procedures() {
		served[p.Number] = true
	}
	message := regexp.MustCompile(`^(DOMAIN|NETWORK|STORAGE_POOL|NODE_DEVICE|SECRET)_EVENT_`) // the server sends these
	for number := uint32(1); ProcedureName(number) != ""; number++ {
		procedure := ProcedureName(number)
		if served[number] || message.MatchString(procedure) {
			continue
		}
		covered := false
		for _, r := range rows {
			for _, p := range r.patterns {
				if ok, _ := path.Match(p, procedure); ok {
					covered = true
					r.covers++
				}
			}
		}
		if !covered {
			t.Errorf("%s is not served, and docs/api.md does not say why", procedure)
		}
	}
	for _, r := range rows {
		if r.covers == 0 {
			t.Errorf("docs/api.md says that%s is not served; all of it is", r.text)
		}
	}
	if len(rows) < 10 {
		t.Errorf("docs/api.md has only %d rows", len(rows))
	}
}
