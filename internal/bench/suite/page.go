package suite

import (
	"bytes"
	_ "embed"
	"html/template"

	"taproom/internal/bench/draw"
)

//go:embed page.html
var pageTemplate string

//go:embed page.css
var pageStyle string

// Page is the report as one file: plots, tables and raw numbers, without a script and without anything from elsewhere, which
// its Content-Security-Policy forbids to browsers as well.
func (r *Report) Page() ([]byte, error) {
	t, err := template.New("page").Funcs(template.FuncMap{
		"number": draw.Number, "plots": func(p Result) []picture { return plots(&p) },
		"ratio": Ratio.text, "count": func(s State) int { return r.count(s) },
	}).Parse(pageTemplate)
	if err != nil {
		return nil, err
	}
	var b bytes.Buffer
	err = t.Execute(&b, map[string]any{"R": r, "Facts": r.facts(), "Style": template.CSS(pageStyle)}) //nolint:gosec // it is ours
	return b.Bytes(), err
}

// count is how many parts are in a state.
func (r *Report) count(s State) int {
	n := 0
	for _, p := range r.Parts {
		if p.State == s {
			n++
		}
	}
	return n
}
