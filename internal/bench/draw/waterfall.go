package draw

// Stage is a part of a course, from and to in the waterfall's unit since its beginning.
type Stage struct {
	Name     string
	From, To float64
}

// Waterfall is what happened one after another.
type Waterfall struct {
	Title, Unit string
	Of          string // what the bounds are: "medians of 20 rounds"
	Stages      []Stage
}

// SVG draws a row for each stage.
func (w Waterfall) SVG() string {
	const row, thick, top = 28.0, 9.0, 6.0
	var last float64
	for _, s := range w.Stages {
		last = max(last, s.To)
	}
	s := newScale(0, last, margin+2, width-margin-2, false)
	bottom := top + row*float64(len(w.Stages))
	c := &canvas{}
	y := c.xAxis(s, s.named(), bottom, top, "since the beginning, "+w.Unit)
	c.f(`<g class="axis y">`)
	c.line("line", s.from, top, s.from, bottom)
	for i, stage := range w.Stages {
		value := "until " + Number(stage.To) + " " + w.Unit
		at := top + row*float64(i) + fontSize + 1
		c.text("label", "start", margin+4, at, fit(stage.Name, width-2*margin-textWidth(value)-10))
		c.text("value", "end", width-margin, at, value)
	}
	c.f(`</g>`)
	for i, stage := range w.Stages {
		from, to := s.at(stage.From), s.at(stage.To)
		c.f(`<rect class="bar own" x="%s" y="%s" width="%s" height="%s"/>`, num(from), num(top+row*float64(i)+fontSize+5), num(max(0.75, to-from)), num(thick))
	}
	c.height = c.legend(y+8, []entry{{"a stage, by " + w.Of, func(c *canvas, x, y float64) {
		c.f(`<rect class="bar own" x="%s" y="%s" width="14" height="9"/>`, num(x), num(y-4.5))
	}}})
	return c.String("waterfall", w.Title)
}
