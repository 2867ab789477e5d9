package draw

import (
	"fmt"
	"math"
	"strings"
)

// Point is a place of a line, with what the value may as well be.
type Point struct{ X, Low, Y, High float64 }

// Line is a quantity against another.
type Line struct {
	Name   string
	Points []Point // by X
}

// Tick is a named place on the axis of a plot's X.
type Tick struct {
	X    float64
	Name string
}

// Lines are quantities of one unit against one of another.
type Lines struct {
	Title string
	X, Y  string // what is on the axes, with their units
	Lines []Line // up to eight, at least one
	Ticks []Tick // of X; where there are none they are round numbers
	Zero  bool   // Y begins at 0 whatever its range
}

// MostLines is how many can be told apart.
const MostLines = 8

// SVG draws both axes from what the points span, logarithmic where that is wide.
func (l Lines) SVG() string {
	const top, tall = 24.0, 190.0
	x, y := l.spans()
	logX, logY := len(l.Ticks) == 0 && logarithmic(x.low, x.high, 20), !l.Zero && logarithmic(y.low, y.high, wide)
	if !logY {
		y.low = min(0, y.low)
	}
	sy := newScale(y.low, y.high, top+tall, top, logY)
	left := 0.0
	for _, t := range sy.named() {
		left = max(left, textWidth(t.name))
	}
	left += margin + 5
	sx := newScale(x.low, x.high, left, width-margin-6, logX)
	if !logX {
		sx.low, sx.high = x.low, x.high
		if narrow(sx.low, sx.high) {
			sx.low, sx.high = sx.low-room(sx.low), sx.low+room(sx.low)
		}
	}
	c := &canvas{}
	c.f(`<g class="axis y">`)
	c.line("line", left, top, left, top+tall)
	last := math.Inf(1)
	for _, t := range sy.named() {
		at := sy.at(t.at)
		c.line("grid", left, at, sx.to, at)
		if last-at >= lineStep { // of many decades not each has room for its label
			c.text("tick", "end", left-5, at+4, t.name)
			last = at
		}
	}
	c.text("unit", "start", margin, 12, fit(axisTitle(l.Y, logY), width-2*margin))
	c.f(`</g>`)
	ticks := l.ticks(sx)
	end := c.xAxis(sx, ticks, top+tall, top, axisTitle(l.X, logX))
	var entries []entry
	for i, line := range l.Lines {
		line.draw(c, sx, sy, i)
		entries = append(entries, entry{line.Name, func(c *canvas, x, y float64) {
			c.f(`<line class="curve c%d" x1="%s" y1="%s" x2="%s" y2="%s"/>`, i%MostLines, num(x), num(y), num(x+16), num(y))
			marker(c, i, x+8, y)
		}})
	}
	c.height = c.legend(end+8, entries)
	return c.String("lines", l.Title)
}

func axisTitle(title string, log bool) string {
	if log {
		return title + " (logarithmic)"
	}
	return title
}

// span is from the least to the most.
type span struct{ low, high float64 }

func (l Lines) spans() (x, y span) {
	x, y = span{math.Inf(1), math.Inf(-1)}, span{math.Inf(1), math.Inf(-1)}
	for _, line := range l.Lines {
		for _, p := range line.Points {
			x.low, x.high = min(x.low, p.X), max(x.high, p.X)
			y.low, y.high = min(y.low, p.Low, p.Y), max(y.high, p.High, p.Y)
		}
	}
	for _, t := range l.Ticks {
		x.low, x.high = min(x.low, t.X), max(x.high, t.X)
	}
	return x, y
}

// ticks are those that were given; or where there are points; or round numbers, when those are many.
func (l Lines) ticks(s scale) []tick {
	var out []tick
	for _, t := range l.Ticks {
		out = append(out, tick{t.X, t.Name})
	}
	if len(out) > 0 {
		return out
	}
	return s.inside()
}

// inside are round values between the ends of a scale whose ends are not round.
func (s scale) inside() []tick {
	if s.log {
		return s.named()
	}
	var out []tick
	step := s.step(6)
	for i := math.Ceil(s.low/step - 1e-9); i*step <= s.high+step/1e6; i++ {
		out = append(out, tick{i * step, short(i * step)})
	}
	return out
}

func (line Line) draw(c *canvas, sx, sy scale, i int) {
	var path strings.Builder
	for k, p := range line.Points {
		fmt.Fprintf(&path, "%s%s %s", map[bool]string{true: "M", false: "L"}[k == 0], num(sx.at(p.X)), num(sy.at(p.Y)))
		if p.High > p.Low {
			c.line(fmt.Sprintf("spread c%d", i%MostLines), sx.at(p.X), sy.at(p.Low), sx.at(p.X), sy.at(p.High))
		}
	}
	c.f(`<path class="curve c%d" d="%s"/>`, i%MostLines, path.String())
	for _, p := range line.Points {
		marker(c, i, sx.at(p.X), sy.at(p.Y))
	}
}

// marker differs from line to line in its form too, for those who see no colours, and for paper.
func marker(c *canvas, i int, x, y float64) {
	class := fmt.Sprintf("mark c%d", i%MostLines)
	switch i % 4 {
	case 0:
		c.f(`<circle class="%s" cx="%s" cy="%s" r="3"/>`, class, num(x), num(y))
	case 1:
		c.f(`<rect class="%s" x="%s" y="%s" width="5.5" height="5.5"/>`, class, num(x-2.75), num(y-2.75))
	case 2:
		c.f(`<path class="%s" d="M%s %sl3.5 6h-7z"/>`, class, num(x), num(y-3.5))
	default:
		c.f(`<path class="%s" d="M%s %sl3.5 3.5l-3.5 3.5l-3.5 -3.5z"/>`, class, num(x), num(y-3.5))
	}
}
