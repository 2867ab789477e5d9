package draw

import "slices"

// Bar is a quantity with its spread.
type Bar struct {
	Label            string
	Class            string // own, floor, peer or base
	Low, Value, High float64
	Text             string // the value and its spread as they are printed
}

// Bars compares quantities of one unit.
type Bars struct {
	Title, Unit string
	Of          string // what a bar is: "median"
	Spread      string // what its whiskers are: "least to most"
	Bars        []Bar  // at least one
}

// barNames say what a class is, in the order of the legend.
var barNames = []struct{ class, name string }{
	{"own", "taproom"}, {"floor", "the floor under it"}, {"peer", "a peer"}, {"base", "the other build"},
}

// wide is from which ratio of the most to the least on the scale is logarithmic, and marks stand for bars.
const wide = 50.0

// logarithmic reports whether a scale from low to high is to be: the most is so many times the least, but not so many that the least is
// as good as 0.
func logarithmic(low, high, times float64) bool {
	const most = 1e15
	return low > nothing && high/low >= times && high/low <= most
}

// SVG draws a row for each bar: its label and value above it.
func (b Bars) SVG() string {
	const row, thick, top = 31.0, 9.0, 6.0
	low, high := b.Bars[0].Low, b.Bars[0].High
	least := b.Bars[0].Value
	for _, bar := range b.Bars {
		low, high = min(low, bar.Low, bar.Value), max(high, bar.High, bar.Value)
		least = min(least, bar.Value)
	}
	log := logarithmic(low, high, wide) && high/least >= wide
	if !log {
		low, high = min(0, low), max(0, high)
	}
	s := newScale(low, high, margin+2, width-margin-2, log)
	bottom := top + row*float64(len(b.Bars))
	c := &canvas{}
	title := b.Of + ", " + b.Unit
	if log {
		title += " (logarithmic)"
	}
	y := c.xAxis(s, s.named(), bottom, top, title)
	c.f(`<g class="axis y">`)
	c.line("line", s.at(max(0, s.low)), top, s.at(max(0, s.low)), bottom)
	for i, bar := range b.Bars {
		value := fit(bar.Text, (width-2*margin)*0.6)
		label := fit(bar.Label, width-2*margin-textWidth(value)-10)
		at := top + row*float64(i) + fontSize + 1
		c.text("label", "start", margin+4, at, label)
		c.text("value", "end", width-margin, at, value)
	}
	c.f(`</g>`)
	for i, bar := range b.Bars {
		bar.draw(c, s, top+row*float64(i)+fontSize+6, thick, log)
	}
	var entries []entry
	for _, n := range barNames {
		if slices.ContainsFunc(b.Bars, func(bar Bar) bool { return bar.Class == n.class }) {
			entries = append(entries, entry{n.name, func(c *canvas, x, y float64) {
				c.f(`<rect class="bar %s" x="%s" y="%s" width="14" height="9"/>`, n.class, num(x), num(y-4.5))
			}})
		}
	}
	if slices.ContainsFunc(b.Bars, func(bar Bar) bool { return bar.High > bar.Low }) {
		entries = append(entries, entry{b.Spread, func(c *canvas, x, y float64) { whisker(c, x, x+14, y) }})
	}
	c.height = c.legend(y+8, entries)
	return c.String("bars", b.Title)
}

func (bar Bar) draw(c *canvas, s scale, y, thick float64, log bool) {
	at, middle := s.at(bar.Value), y+thick/2
	if log {
		c.f(`<circle class="bar %s" cx="%s" cy="%s" r="4.5"/>`, bar.Class, num(at), num(middle))
	} else {
		zero := s.at(0)
		c.f(`<rect class="bar %s" x="%s" y="%s" width="%s" height="%s"/>`, bar.Class, num(min(zero, at)), num(y), num(max(0.75, max(zero, at)-min(zero, at))), num(thick))
	}
	if bar.High > bar.Low {
		whisker(c, s.at(bar.Low), s.at(bar.High), middle)
	}
}

func whisker(c *canvas, from, to, y float64) {
	c.line("spread", from, y, to, y)
	c.line("spread", from, y-3, from, y+3)
	c.line("spread", to, y-3, to, y+3)
}
