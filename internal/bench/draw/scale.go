package draw

import "math"

// scale maps values to a stretch of the drawing.
type scale struct {
	low, high float64 // values
	from, to  float64 // where they stand
	log       bool
}

// newScale spans low to high, widened to round numbers. A logarithmic one needs values above 0.
func newScale(low, high, from, to float64, log bool) scale {
	s := scale{low: low, high: high, from: from, to: to, log: log}
	if log {
		s.low, s.high = roundDown(low), roundUp(high)
		if s.low == s.high {
			s.high *= 10
		}
		return s
	}
	if narrow(s.low, s.high) {
		s.high = s.low + room(s.low)
	}
	step := s.step(5)
	s.low, s.high = math.Floor(s.low/step+1e-9)*step, math.Ceil(s.high/step-1e-9)*step
	return s
}

// nothing is as good as 0: below it the arithmetic of floating point ends.
const nothing = 1e-200

// narrow reports whether two values are so near to each other, or to 0, that no round numbers lie between them.
func narrow(low, high float64) bool {
	const relative = 1e-12
	return high-low <= max(nothing, relative*max(math.Abs(low), math.Abs(high)))
}

// room is what a scale of one value has beside it.
func room(v float64) float64 { return max(1, math.Abs(v)/1e6) }

// roundDown is the next of 1, 2, 5, 10, … below.
func roundDown(v float64) float64 {
	of := math.Pow(10, math.Floor(math.Log10(v)))
	for _, m := range []float64{5, 2} {
		if v >= m*of*(1-1e-9) {
			return m * of
		}
	}
	return of
}

func roundUp(v float64) float64 {
	of := math.Pow(10, math.Floor(math.Log10(v)))
	for _, m := range []float64{1, 2, 5} {
		if v <= m*of*(1+1e-9) {
			return m * of
		}
	}
	return 10 * of
}

// step is a round distance of ticks, so that there are no more than most.
func (s scale) step(most int) float64 { return roundUp((s.high - s.low) / float64(most)) }

// at is where a value stands; what is outside stands at the end.
func (s scale) at(v float64) float64 {
	v = min(max(v, s.low), s.high)
	share := (v - s.low) / (s.high - s.low)
	if s.log {
		share = math.Log(v/s.low) / math.Log(s.high/s.low)
	}
	return s.from + share*(s.to-s.from)
}

// ticks are round values on the scale.
func (s scale) ticks() []float64 {
	var out []float64
	if !s.log {
		step := s.step(5)
		for i := math.Round(s.low / step); i*step <= s.high+step/1e6; i++ {
			out = append(out, i*step)
		}
		return out
	}
	decades := math.Log10(s.high / s.low)
	for of := math.Pow(10, math.Floor(math.Log10(s.low))); of <= s.high*(1+1e-9); of *= 10 {
		for _, m := range []float64{1, 2, 5} {
			v := m * of
			if (m == 1 || decades < 3) && v >= s.low*(1-1e-9) && v <= s.high*(1+1e-9) {
				out = append(out, v)
			}
		}
	}
	if len(out) < 2 {
		return []float64{s.low, s.high}
	}
	return out
}

// xAxis draws a horizontal axis at y with its grid up to top, and its title below. Ticks whose labels would come near each
// other lose theirs.
func (c *canvas) xAxis(s scale, ticks []tick, y, top float64, title string) float64 {
	c.f(`<g class="axis x">`)
	c.line("line", s.from, y, s.to, y)
	end := math.Inf(-1)
	for _, t := range ticks {
		x := s.at(t.at)
		c.line("grid", x, top, x, y)
		w := textWidth(t.name)
		middle := min(max(x, w/2+2), width-w/2-2)
		if middle-w/2 < end+4 {
			continue
		}
		end = middle + w/2
		c.line("line", x, y, x, y+3)
		c.text("tick", "middle", middle, y+fontSize+7, t.name)
	}
	y += fontSize + 7 + lineStep
	title = fit(title, width-2*margin)
	half := textWidth(title) / 2
	c.text("unit", "middle", min(max((s.from+s.to)/2, margin+half), width-margin-half), y, title)
	c.f(`</g>`)
	return y + 6
}

// tick is a place on an axis.
type tick struct {
	at   float64
	name string
}

func (s scale) named() []tick {
	var out []tick
	for _, v := range s.ticks() {
		out = append(out, tick{v, short(v)})
	}
	return out
}
