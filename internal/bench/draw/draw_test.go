package draw

import (
	"encoding/xml"
	"errors"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// placed is a text of a drawing and the box that it takes at most.
type placed struct {
	text, class              string
	left, right, top, bottom float64
}

// drawing is what a plot consists of.
type drawing struct {
	classes []string // of all elements
	texts   []placed
	height  float64
}

// read takes a plot apart, and complains where it is not well-formed.
func read(t testing.TB, svg string) drawing {
	t.Helper()
	var d drawing
	decoder := xml.NewDecoder(strings.NewReader(svg))
	var open *placed
	for {
		token, err := decoder.Token()
		if errors.Is(err, io.EOF) {
			return d
		}
		if err != nil {
			t.Fatalf("not well-formed: %v\n%s", err, svg)
		}
		switch e := token.(type) {
		case xml.StartElement:
			a := map[string]string{}
			for _, attr := range e.Attr {
				a[attr.Name.Local] = attr.Value
			}
			d.classes = append(d.classes, a["class"])
			if e.Name.Local == "svg" {
				d.height, _ = strconv.ParseFloat(strings.Fields(a["viewBox"])[3], 64)
			}
			if e.Name.Local == "text" {
				x, _ := strconv.ParseFloat(a["x"], 64)
				y, _ := strconv.ParseFloat(a["y"], 64)
				open = &placed{class: a["class"] + " " + a["text-anchor"], left: x, top: y - fontSize*0.8, bottom: y + fontSize*0.25}
			}
		case xml.CharData:
			if open != nil {
				open.text += string(e)
			}
		case xml.EndElement:
			if open != nil {
				w := textWidth(open.text)
				open.left -= map[string]float64{"start": 0, "middle": w / 2, "end": w}[strings.Fields(open.class)[1]]
				open.right = open.left + w
				d.texts = append(d.texts, *open)
				open = nil
			}
		}
	}
}

// sound says what is wrong with a plot: an axis without a unit, no legend, texts over each other or outside.
func sound(t testing.TB, svg string) {
	t.Helper()
	d := read(t, svg)
	for _, class := range []string{"axis x", "axis y", "unit", "legend", "key"} {
		if !slices.Contains(d.classes, class) {
			t.Errorf("it has no %q:\n%s", class, svg)
		}
	}
	for i, a := range d.texts {
		if a.left < -0.01 || a.right > width+0.01 || a.top < -0.01 || a.bottom > d.height+0.01 {
			t.Errorf("%+v lies outside of %v × %v", a, width, d.height)
		}
		for _, b := range d.texts[:i] {
			if a.left < b.right && b.left < a.right && a.top < b.bottom && b.top < a.bottom {
				t.Errorf("%+v and %+v lie over each other", a, b)
			}
		}
	}
	for _, bad := range []string{"NaN", "Inf"} {
		if strings.Contains(svg, bad) {
			t.Errorf("%s in\n%s", bad, svg)
		}
	}
}

func TestWhateverIsDrawnHasAxesUnitsAndALegendAndNoTextsOverlap(t *testing.T) {
	t.Parallel()
	name := rapid.StringMatching(`[A-HJ-MO-Za-z0-9. <&"µ×-]{1,60}`) // sound would take an Inf or a NaN for a number
	value := rapid.OneOf(rapid.Float64Range(-50, 50), rapid.Float64Range(0.0001, 1), rapid.Float64Range(1, 1e10), rapid.Just(0.0))
	rapid.Check(t, func(t *rapid.T) {
		b := Bars{Title: name.Draw(t, "title"), Unit: "ms", Of: "median", Spread: "least to most"}
		for range rapid.IntRange(1, 14).Draw(t, "bars") {
			v := []float64{value.Draw(t, "v"), value.Draw(t, "v"), value.Draw(t, "v")}
			slices.Sort(v)
			class := rapid.SampledFrom([]string{"own", "floor", "peer", "base"}).Draw(t, "class")
			b.Bars = append(b.Bars, Bar{Label: name.Draw(t, "label"), Class: class, Low: v[0], Value: v[1], High: v[2], Text: Number(v[1]) + " ms (" + Number(v[0]) + " to " + Number(v[2]) + ")"})
		}
		soundRapid(t, b.SVG())
		l := Lines{Title: "t", X: name.Draw(t, "x"), Y: name.Draw(t, "y")}
		for range rapid.IntRange(1, MostLines).Draw(t, "lines") {
			line := Line{Name: name.Draw(t, "line")}
			for range rapid.IntRange(1, 9).Draw(t, "points") {
				v := value.Draw(t, "v")
				line.Points = append(line.Points, Point{value.Draw(t, "at"), v, v, v})
			}
			l.Lines = append(l.Lines, line)
		}
		soundRapid(t, l.SVG())
		w := Waterfall{Title: "t", Unit: "ms", Of: "medians"}
		for range rapid.IntRange(1, 9).Draw(t, "stages") {
			from := rapid.Float64Range(0, 1e5).Draw(t, "from")
			w.Stages = append(w.Stages, Stage{name.Draw(t, "stage"), from, from + rapid.Float64Range(0, 1e5).Draw(t, "took")})
		}
		soundRapid(t, w.SVG())
	})
}

func TestLines_SoundWhereTheScaleIsVeryWideOrNarrow(t *testing.T) {
	t.Parallel()
	for _, values := range [][]float64{
		{1e-7, 1e10},     // more decades than labels have room for
		{1e-310, 50},     // a ratio that is no number
		{1e-310},         // a span that is none
		{1e10, 1e10 + 1}, // one that is small beside its values
		{1e10, math.Nextafter(1e10, 2e10)},
	} {
		line := Line{Name: "a"}
		for _, v := range values {
			line.Points = append(line.Points, Point{v, v, v, v})
		}
		sound(t, Lines{Title: "t", X: "x", Y: "y", Lines: []Line{line}}.SVG())
		sound(t, Lines{Title: "t", X: strings.Repeat("M ", 100), Y: strings.Repeat("M ", 100), Lines: []Line{line}}.SVG())
		sound(t, Bars{Title: "t", Unit: "ms", Of: "median", Spread: "s", Bars: []Bar{{Label: "a", Class: "own", Low: values[0], Value: values[len(values)-1], High: 1e11}}}.SVG())
		sound(t, Waterfall{Title: "t", Unit: "ms", Of: "medians", Stages: []Stage{{"a", 0, values[0]}}}.SVG())
	}
}

// soundRapid is sound for rapid's kind of test.
func soundRapid(t *rapid.T, svg string) { sound(rapidTB{T: t}, svg) }

// rapidTB passes what fails on to rapid, which looks for the smallest case.
type rapidTB struct {
	testing.TB
	T *rapid.T
}

func (r rapidTB) Helper()                           {}
func (r rapidTB) Errorf(format string, args ...any) { r.T.Errorf(format, args...) }
func (r rapidTB) Fatalf(format string, args ...any) { r.T.Fatalf(format, args...) }

func TestBarsReachTheirValues(t *testing.T) {
	t.Parallel()
	svg := Bars{Title: "t", Unit: "ms", Of: "median", Spread: "range", Bars: []Bar{{"a", "own", 10, 10, 10, "10 ms"}, {"b", "floor", 5, 5, 5, "5 ms"}}}.SVG()
	for _, want := range []string{`class="bar own" x="10" y="23" width="340"`, `class="bar floor" x="10" y="54" width="170"`, ">taproom<", ">the floor under it<", ">median, ms<"} {
		if !strings.Contains(svg, want) {
			t.Errorf("no %s in\n%s", want, svg)
		}
	}
	if strings.Contains(svg, "range") {
		t.Error("the legend explains whiskers that are not there")
	}
}

func TestAWideRangeIsDrawnOnALogarithmicScaleAndSaysSo(t *testing.T) {
	t.Parallel()
	svg := Bars{Title: "t", Unit: "ms", Of: "median", Spread: "range", Bars: []Bar{{"a", "own", 1, 1, 1, "1"}, {"b", "peer", 1000, 1000, 1000, "1000"}}}.SVG()
	if !strings.Contains(svg, "(logarithmic)") || !strings.Contains(svg, "<circle") || strings.Contains(svg, `class="bar own" x="10" y="23"`) {
		t.Errorf("bars have no beginning on such a scale:\n%s", svg)
	}
}

func TestScalesAreRound(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		low, high float64
		log       bool
		want      []float64
	}{
		{0, 9.3, false, []float64{0, 2, 4, 6, 8, 10}},
		{-3, 4, false, []float64{-4, -2, 0, 2, 4}},
		{0, 0, false, []float64{0, 0.2, 0.4, 0.6, 0.8, 1}},
		{1.3, 80, true, []float64{1, 2, 5, 10, 20, 50, 100}},
		{3, 45000, true, []float64{10, 100, 1000, 10000}},
	} {
		got := newScale(c.low, c.high, 0, 1, c.log).ticks()
		ok := len(got) == len(c.want)
		for i := range min(len(got), len(c.want)) {
			ok = ok && math.Abs(got[i]-c.want[i]) <= 1e-9*math.Abs(c.want[i])
		}
		if !ok {
			t.Errorf("from %v to %v: %v, want %v", c.low, c.high, got, c.want)
		}
	}
}

func TestNumbersAreWrittenForPeople(t *testing.T) {
	t.Parallel()
	for v, want := range map[float64]string{0: "0", 1.23456: "1.23", 99.96: "100", 999.4: "999", 12345.6: "12,346", -1234567: "-1,234,567", 0.00012345: "0.000123", 0.0123: "0.0123"} {
		if got := Number(v); got != want {
			t.Errorf("%v: %s, want %s", v, got, want)
		}
	}
	for v, want := range map[float64]string{1000: "1,000", 20000: "20k", 5e6: "5M", 2e9: "2G"} {
		if got := short(v); got != want {
			t.Errorf("%v: %s, want %s", v, got, want)
		}
	}
	if got := fit("a.very.long.name.of.a.figure", 80); textWidth(got) > 80 || !strings.HasPrefix(got, "a.v") || !strings.HasSuffix(got, "re") || !strings.Contains(got, "…") {
		t.Errorf("shortened to %q", got)
	}
}
