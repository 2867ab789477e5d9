package suite

import (
	"cmp"
	"fmt"
	"html/template"
	"math"
	"slices"
	"strconv"
	"strings"

	"taproom/internal/bench"
	"taproom/internal/bench/draw"
)

// picture is a plot of a part with its caption.
type picture struct {
	Caption string
	SVG     template.HTML
}

// mostBars is how many a plot has at most: they have to be taken in at a glance, and be on one sheet of paper.
const mostBars = 12

// plots draws what a part found: stages as waterfalls, limits and counts as lines, the rest as bars, unit by unit.
func plots(p *Result) []picture {
	var out []picture
	add := func(caption, svg string) {
		out = append(out, picture{caption, template.HTML(svg)}) //nolint:gosec // draw escapes every text
	}
	for _, w := range waterfalls(p) {
		add(w.Title, w.SVG())
	}
	taken := map[string]bool{}
	for _, l := range slices.Concat(shapes(p, taken), growth(p.Report, taken)) {
		add(l.Title, l.SVG())
	}
	for _, b := range bars(p, taken) {
		add(b.Title, b.SVG())
	}
	return out
}

// waterfalls are those of each way to an appliance, and of the stages that a daemon tells of.
func waterfalls(p *Result) []draw.Waterfall {
	var out []draw.Waterfall
	if p.Report.Boot != nil {
		of := fmt.Sprintf("medians of %d rounds", p.Report.Boot.Passes)
		for _, s := range p.Report.Boot.Stages {
			title := "Stages of an appliance: " + s.Way
			if len(out) == 0 || out[len(out)-1].Title != title {
				out = append(out, draw.Waterfall{Title: title, Unit: "ms", Of: of})
			}
			last := &out[len(out)-1]
			last.Stages = append(last.Stages, draw.Stage{Name: s.Stage, From: s.From, To: s.To})
		}
		return out
	}
	at, before := 0.0, ""
	for _, f := range p.Report.Figures {
		way, stage, ok := strings.Cut("."+f.Name, ".stage.")
		if !ok || f.Unit != "ms" || roleOf(f.Name) == roleBase || f.Median < 0 {
			continue
		}
		if way != before || len(out) == 0 {
			at, before = 0, way
			title := "Stages of a start"
			if way != "" {
				title += ": " + strings.TrimPrefix(way, ".")
			}
			out = append(out, draw.Waterfall{Title: title, Unit: "ms", Of: fmt.Sprintf("medians of %d rounds", f.N)})
		}
		last := &out[len(out)-1]
		last.Stages = append(last.Stages, draw.Stage{Name: stage, From: at, To: at + f.Median})
		at += f.Median
	}
	return out
}

// shapes are what passed against what the limit was.
func shapes(p *Result, taken map[string]bool) []draw.Lines {
	if p.Report.Shape == nil {
		return nil
	}
	var out []draw.Lines
	rows := slices.DeleteFunc(slices.Clone(p.Report.Shape.Rows), func(r bench.ShapeRow) bool { return r.KiB == 0 })
	slices.SortStableFunc(rows, func(a, b bench.ShapeRow) int {
		return cmp.Or(strings.Compare(a.Through+a.Direction, b.Through+b.Direction), strings.Compare(a.Transport, b.Transport), a.KiB-b.KiB)
	})
	for _, r := range rows {
		title := fmt.Sprintf("What limits let through: %s, %s", r.Through, r.Direction)
		if len(out) == 0 || out[len(out)-1].Title != title {
			out = append(out, draw.Lines{Title: title, X: "limit, KiB/s", Y: "payload received, Mbit/s"})
		}
		l := &out[len(out)-1]
		if len(l.Lines) == 0 || l.Lines[len(l.Lines)-1].Name != r.Transport {
			l.Lines = append(l.Lines, draw.Line{Name: r.Transport})
		}
		line := &l.Lines[len(l.Lines)-1]
		line.Points = append(line.Points, draw.Point{X: float64(r.KiB), Low: r.Mbits, Y: r.Mbits, High: r.Mbits})
	}
	for _, f := range p.Report.Figures {
		if f.Unit == "Mbit/s" {
			taken[f.Name] = true
		}
	}
	return out
}

// series is a figure whose name has a number, that of what was measured.
type series struct {
	name   string // with # for the number
	unit   string
	points []draw.Point
	of     []string // the figures
}

// growth are the figures that were measured for three counts or more, against the count.
func growth(r *bench.Report, taken map[string]bool) []draw.Lines {
	var all []series
	for _, f := range r.Figures {
		name, x, ok := counted(f.Name)
		if !ok || taken[f.Name] {
			continue
		}
		i := slices.IndexFunc(all, func(s series) bool { return s.name == name && s.unit == f.Unit })
		if i < 0 {
			all = append(all, series{name: name, unit: f.Unit})
			i = len(all) - 1
		}
		all[i].points = append(all[i].points, draw.Point{X: x, Low: f.Min, Y: f.Median, High: f.Max})
		all[i].of = append(all[i].of, f.Name)
	}
	all = slices.DeleteFunc(all, func(s series) bool { return len(s.points) < 3 })
	var out []draw.Lines
	for _, s := range all {
		for _, name := range s.of {
			taken[name] = true
		}
		slices.SortFunc(s.points, func(a, b draw.Point) int { return cmp.Compare(a.X, b.X) })
		what := s.name[strings.LastIndex(s.name, ".")+1:]
		title := fmt.Sprintf("%s against the count (%s)", strings.Trim(strings.ReplaceAll(what, "#", "N"), "."), s.unit)
		i := slices.IndexFunc(out, func(l draw.Lines) bool { return strings.HasPrefix(l.Title, title) && len(l.Lines) < draw.MostLines })
		if i < 0 {
			for n := 2; slices.ContainsFunc(out, func(l draw.Lines) bool { return l.Title == title }); n++ {
				title, _, _ = strings.Cut(title, ", plot")
				title += ", plot " + strconv.Itoa(n)
			}
			out = append(out, draw.Lines{Title: title, X: "count (# in the names)", Y: "median, least to most, " + s.unit})
			i = len(out) - 1
		}
		out[i].Lines = append(out[i].Lines, draw.Line{Name: s.name, Points: s.points})
	}
	return out
}

// counted finds the number in a figure's name: the part between points that is one.
func counted(name string) (string, float64, bool) {
	words := strings.Split(name, ".")
	for i, w := range words {
		if n, err := strconv.Atoi(w); err == nil && n > 0 {
			words[i] = "#"
			return strings.Join(words, "."), float64(n), true
		}
	}
	return "", 0, false
}

// bars are the other figures, unit by unit in the order of the report.
func bars(p *Result, taken map[string]bool) []draw.Bars {
	var units []string
	byUnit := map[string][]draw.Bar{}
	for _, f := range p.Report.Figures {
		if taken[f.Name] || strings.Contains("."+f.Name, ".stage.") || math.IsNaN(f.Median) {
			continue
		}
		if !slices.Contains(units, f.Unit) {
			units = append(units, f.Unit)
		}
		byUnit[f.Unit] = append(byUnit[f.Unit], draw.Bar{
			Label: f.Name, Class: roleOf(f.Name), Low: f.Min, Value: f.Median, High: f.Max,
			Text: fmt.Sprintf("%s %s", draw.Number(f.Median), f.Unit),
		})
	}
	var out []draw.Bars
	for _, unit := range units {
		pieces := slices.Collect(slices.Chunk(byUnit[unit], mostBars))
		for i, piece := range pieces {
			b := draw.Bars{Title: fmt.Sprintf("%s (%s)", p.Name, unit), Unit: unit, Of: "median", Spread: "the least to the most", Bars: piece}
			if len(pieces) > 1 {
				b.Title += fmt.Sprintf(", %d of %d", i+1, len(pieces))
			}
			out = append(out, b)
		}
	}
	return out
}
