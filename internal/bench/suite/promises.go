package suite

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"taproom/internal/bench"
)

// Kept is a row of the promises that a report does not change.
type Kept struct {
	What string // the row's first cell
	Why  string
}

// Promises is the table of promises after a report was taken in.
type Promises struct {
	Text    string   // the whole document
	Renewed []string // rows as they are now, in the order of the document
	Kept    []Kept
}

// errQuick refuses a report whose sizes are not those that the promises speak of.
var errQuick = errors.New("the report is of a run with --quick, whose sizes are not those of the promises; make one with taproom bench all")

// The document's forms.
var (
	tableRow    = regexp.MustCompile(`^\| .* \|$`)
	benchNames  = regexp.MustCompile("`taproom bench ([\\w-]+)")
	figureNames = regexp.MustCompile(`figures? ([\w.-]+(?:(?:, | and )[\w.-]+)*)`)
	provenance  = regexp.MustCompile(`\(([A-Z], (\d{4}-\d\d-\d\d)[^)]*)\)`)
)

const asAbove = "(as above)"

// cells of a row: | what | promise | measured (machine, date) | peer | how |.
const (
	whatCell = iota
	promiseCell
	measuredCell
	peerCell
	howCell
	cellCount
)

// Renew takes the figures of a full run into the document of promises. A row names its figures in its last cell; where all of
// them are in the report, it gets their medians, ratios, date, machine, load and number of repetitions. Every other row stays as it
// is: what is older than a row does not replace it, and a row that is measured beside a peer is not renewed without the peer. A
// machine that the document does not describe is added to it.
func Renew(document string, r *Report) (*Promises, error) {
	if r.Quick {
		return nil, errQuick
	}
	lines := strings.Split(document, "\n")
	lines, machine, err := placed(lines, r)
	if err != nil {
		return nil, err
	}
	out := &Promises{}
	before := len(provenance.FindAllString(document, -1))
	var was, is string // what "as above" means, in the old document and in the new one
	for i, line := range lines {
		row, ok := cells(line)
		if !ok {
			continue
		}
		old := row[measuredCell]
		if m := provenance.FindString(old); m != "" {
			was = m
		}
		fresh, why := renewed(row, was, machine, r)
		if why != "" {
			out.Kept = append(out.Kept, Kept{What: row[whatCell], Why: why})
			if strings.Contains(old, asAbove) && is != was {
				row[measuredCell] = strings.Replace(old, asAbove, was, 1)
			}
		} else {
			row = fresh
			out.Renewed = append(out.Renewed, rowText(row))
		}
		if m := provenance.FindString(row[measuredCell]); m != "" {
			is = m
		}
		lines[i] = rowText(row)
	}
	if before == 0 && len(out.Renewed)+len(out.Kept) == 0 {
		return nil, errors.New("the document has no table of promises: rows of five cells, the third of them measured (machine, date)")
	}
	if len(out.Renewed) == 0 {
		out.Text = document // no machine is described that nothing was measured on
		return out, nil
	}
	out.Text = strings.Join(lines, "\n")
	return out, nil
}

// cells are those of a row of promises.
func cells(line string) ([]string, bool) {
	if !tableRow.MatchString(line) || strings.HasPrefix(line, "| ---") || strings.HasPrefix(line, "| what |") {
		return nil, false
	}
	row := strings.Split(strings.TrimSuffix(strings.TrimPrefix(line, "|"), "|"), "|")
	if len(row) != cellCount {
		return nil, false
	}
	for i := range row {
		row[i] = strings.TrimSpace(row[i])
	}
	return row, true
}

// rowText is the row as the document has it; a cell without text is one space wide.
func rowText(row []string) string {
	var b strings.Builder
	for _, c := range row {
		b.WriteString("| ")
		if c != "" {
			b.WriteString(c + " ")
		}
	}
	return b.String() + "|"
}

// renewed is the row with the report's figures, or why it stays as it is. place is the row's old machine, date and load.
func renewed(row []string, place, machine string, r *Report) (fresh []string, why string) {
	named := figureNames.FindStringSubmatch(row[howCell])
	if named == nil {
		return nil, "it names no figure"
	}
	names := strings.FieldsFunc(strings.ReplaceAll(named[1], " and ", ","), func(c rune) bool { return c == ',' || c == ' ' })
	parts, why := measuring(row[howCell], names, r)
	if why != "" {
		return nil, why
	}
	if m := provenance.FindStringSubmatch(place); m != nil {
		if was, err := time.Parse(time.DateOnly, m[2]); err == nil && parts[0].Began.Before(was) {
			return nil, "it was measured later than the report"
		}
	}
	beside := strings.Contains(row[howCell], "peers")
	f := &finding{alone: len(names) == 1 && len(parts) == 1}
	for _, p := range parts {
		prefix := ""
		if len(parts) > 1 {
			prefix = p.Name + ": "
		}
		for _, name := range names {
			if !f.take(p, prefix, name) && beside && name == names[0] {
				return nil, "the report has no peer beside " + name
			}
		}
	}
	row = slices.Clone(row)
	row[measuredCell] = strings.Join(f.own, "; ") + " " + f.place(machine, parts)
	switch old := row[peerCell]; {
	case len(f.peers) > 0:
		row[peerCell] = strings.Join(f.peers, "; ")
	case old != "" && !strings.Contains(old, "(") && place != "":
		row[peerCell] = old + " " + place // it is not of this run
	}
	return row, ""
}

// measuring are the parts of the report that have all of a row's figures. Where the row names no benchmark, there has to be one alone.
func measuring(how string, names []string, r *Report) (parts []*Result, why string) {
	var asked []string
	for _, m := range benchNames.FindAllStringSubmatch(how, -1) {
		asked = append(asked, m[1])
	}
	why = "its benchmark is not in the report"
	for i := range r.Parts {
		p, ok := r.Part(r.Parts[i].Name)
		if !ok || len(asked) > 0 && !slices.Contains(asked, p.Report.Bench) {
			continue
		}
		missing := slices.IndexFunc(names, func(n string) bool { _, ok := p.Report.Figure(n); return !ok })
		if missing >= 0 {
			if parts == nil {
				why = "the report has no figure " + names[missing]
			}
			continue
		}
		parts, why = append(parts, p), ""
	}
	if len(asked) == 0 && slices.ContainsFunc(parts, func(p *Result) bool { return p.Report.Bench != parts[0].Report.Bench }) {
		return nil, "several benchmarks of the report have a figure " + names[0]
	}
	return parts, why
}

// finding is what a report says of one row.
type finding struct {
	alone bool // one figure of one part needs no name
	own   []string
	peers []string
	least int // repetitions
}

// take adds a figure and what it is compared with: the peers where there are any, or the floor. It reports whether there were
// peers.
func (f *finding) take(p *Result, prefix, name string) (peers bool) {
	own, _ := p.Report.Figure(name) // measuring has seen it
	label := func(name string) string {
		if f.alone {
			return ""
		}
		return prefix + name + " "
	}
	role := roleFloor
	for _, q := range p.Ratios {
		if q.Figure == name && roleOf(q.Against) == rolePeer {
			role, peers = rolePeer, true
		}
	}
	text := label(name) + quantity(own)
	for _, q := range p.Ratios {
		if q.Figure != name || roleOf(q.Against) != role {
			continue
		}
		text += fmt.Sprintf(", %s × %s", grouped(q.Estimate), q.Against)
		if q.Low > 0 && q.High > 0 {
			text += fmt.Sprintf(" [%s to %s]", grouped(q.Low), grouped(q.High))
		}
		if other, ok := p.Report.Figure(q.Against); ok && role == rolePeer {
			f.peers = append(f.peers, prefix+q.Against+" "+quantity(other))
		}
	}
	f.own = append(f.own, text)
	if f.least == 0 || own.N < f.least {
		f.least = own.N
	}
	return peers
}

// place says where, when and under which load the parts were measured, and how often.
func (f *finding) place(machine string, parts []*Result) string {
	low, high := parts[0].Report.Host.Load, parts[0].Report.Host.Load
	for _, p := range parts {
		low, high = min(low, p.Report.Host.Load), max(high, p.Report.Host.Load)
	}
	load := strconv.FormatFloat(low, 'f', 1, 64)
	if most := strconv.FormatFloat(high, 'f', 1, 64); most != load {
		load += " to " + most
	}
	often := "once"
	if f.least > 1 {
		often = fmt.Sprintf("%d repetitions", f.least)
	}
	return fmt.Sprintf("(%s, %s, load %s, %s)", machine, parts[0].Began.UTC().Format(time.DateOnly), load, often)
}

// quantity is a figure's median with its unit, in the document's words.
func quantity(f bench.Figure) string {
	unit := f.Unit
	switch unit {
	case "1/s":
		unit = "a second"
	case "us":
		unit = "µs"
	case "count":
		unit = ""
	}
	return strings.TrimSpace(grouped(f.Median) + " " + unit)
}

// grouped prints three significant digits, thousands apart.
func grouped(v float64) string {
	short := strconv.FormatFloat(v, 'g', 3, 64)
	v, _ = strconv.ParseFloat(short, 64) // it was just printed
	s := strconv.FormatFloat(v, 'f', -1, 64)
	whole, rest, point := strings.Cut(s, ".")
	for i := len(whole) - 3; i > 0 && whole[i-1] != '-'; i -= 3 {
		whole = whole[:i] + "," + whole[i:]
	}
	if point {
		whole += "." + rest
	}
	return whole
}
