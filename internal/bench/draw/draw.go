// Package draw makes plots as SVG, for a report that one file holds. A plot is 360 units wide, which is a phone's width, so
// that its letters can be read where it is not enlarged; colours are left to the page's style sheet by classes (own, floor,
// peer, base, c0 to c7), so that they follow the reader's scheme. Every plot has both axes, their units and a legend. Where
// texts stand is computed from widths that no common sans-serif font exceeds, so that none overlap.
package draw

import (
	"fmt"
	"html"
	"math"
	"strconv"
	"strings"
)

// The measures of every plot, in its units.
const (
	width    = 360.0
	margin   = 8.0
	fontSize = 11.0
	lineStep = 15.0 // from one line of text to the next
)

// canvas collects elements.
type canvas struct {
	b      strings.Builder
	height float64
}

func (c *canvas) f(format string, args ...any) { fmt.Fprintf(&c.b, format, args...) }

// text writes s at x, y; anchor is start, middle or end.
func (c *canvas) text(class, anchor string, x, y float64, s string) {
	c.f(`<text class="%s" x="%s" y="%s" text-anchor="%s">%s</text>`, class, num(x), num(y), anchor, html.EscapeString(s))
}

func (c *canvas) line(class string, x1, y1, x2, y2 float64) {
	c.f(`<line class="%s" x1="%s" y1="%s" x2="%s" y2="%s"/>`, class, num(x1), num(y1), num(x2), num(y2))
}

// String is the whole drawing. The title is what a reader who sees no pictures is told.
func (c *canvas) String(kind, title string) string {
	return fmt.Sprintf(`<svg class="plot %s" viewBox="0 0 %s %s" role="img" aria-label="%s" xmlns="http://www.w3.org/2000/svg" font-size="%s">%s</svg>`,
		kind, num(width), num(c.height), html.EscapeString(title), num(fontSize), c.b.String())
}

// num writes a coordinate, to a hundredth.
func num(v float64) string {
	return strconv.FormatFloat(math.Round(v*100)/100, 'f', -1, 64)
}

// Number prints a value with three significant digits, or all before the point in groups of three.
func Number(v float64) string {
	if math.Abs(v) >= 1000 {
		s := strconv.FormatFloat(math.Abs(v), 'f', 0, 64)
		for i := len(s) - 3; i > 0; i -= 3 {
			s = s[:i] + "," + s[i:]
		}
		if v < 0 {
			return "-" + s
		}
		return s
	}
	if v != 0 && math.Abs(v) < 0.001 {
		return strconv.FormatFloat(v, 'g', 3, 64)
	}
	rounded, _ := strconv.ParseFloat(strconv.FormatFloat(v, 'g', 3, 64), 64) // what was just written
	return strconv.FormatFloat(rounded+0, 'f', -1, 64)                       // -0 + 0 is 0
}

// short is Number for the ticks of an axis.
func short(v float64) string {
	for _, unit := range []struct {
		of   float64
		name string
	}{{1e9, "G"}, {1e6, "M"}, {1e4, "k"}} {
		if math.Abs(v) >= unit.of {
			of := unit.of
			if unit.name == "k" {
				of = 1e3
			}
			return Number(v/of) + unit.name
		}
	}
	return Number(v)
}

// textWidth is at least what s takes: the advances are those of DejaVu Sans, one of the widest, rounded up.
func textWidth(s string) float64 {
	var em float64
	for _, r := range s {
		switch {
		case strings.ContainsRune("ijl.,:;|'!I()[]/ ", r):
			em += 0.42
		case strings.ContainsRune("mwMW%@—", r):
			em += 1.0
		case r >= 'A' && r <= 'Z', r == '+', r == '=', r == '<', r == '>', r == '×', r == '…', r == '–':
			em += 0.85
		case r > 0x7f:
			em += 1.0
		default:
			em += 0.65
		}
	}
	return em * fontSize
}

// fit shortens s in its middle until it takes no more than most.
func fit(s string, most float64) string {
	if textWidth(s) <= most {
		return s
	}
	r := []rune(s)
	for keep := len(r) - 1; keep > 1; keep-- {
		head := (keep + 1) / 2
		if cut := string(r[:head]) + "…" + string(r[len(r)-(keep-head):]); textWidth(cut) <= most {
			return cut
		}
	}
	return "…"
}

// entry is one of a legend's: what mark draws at x, y stands for name.
type entry struct {
	name string
	mark func(c *canvas, x, y float64)
}

// legend writes entries from y on, as many on a line as fit.
func (c *canvas) legend(y float64, entries []entry) float64 {
	const mark, gap = 22.0, 12.0
	c.f(`<g class="legend">`)
	x := margin
	for _, e := range entries {
		name := fit(e.name, width-2*margin-mark)
		w := mark + textWidth(name)
		if x > margin && x+w > width-margin {
			x, y = margin, y+lineStep
		}
		e.mark(c, x, y)
		c.text("key", "start", x+mark, y+4, name)
		x += w + gap
	}
	c.f(`</g>`)
	return y + lineStep/2 + 4
}
