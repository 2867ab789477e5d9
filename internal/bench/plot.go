package bench

import (
	"fmt"
	"io"
	"math"
	"strings"
)

// Plot is a quantity against a number, both from zero.
type Plot struct {
	X      string  `json:"x"`
	Y      string  `json:"y"`
	Points []Point `json:"points"`
}

// Point is one of a Plot.
type Point struct {
	X float64 `json:"x"`
	Y float64 `json:"y"`
}

// writeText draws the points with characters, and says each below.
func (p *Plot) writeText(w io.Writer) {
	const width, height = 60, 16
	var mostX, mostY float64
	for _, at := range p.Points {
		mostX, mostY = max(mostX, at.X), max(mostY, at.Y)
	}
	if mostX <= 0 || mostY <= 0 {
		return
	}
	rows := make([][]rune, height+1)
	for i := range rows {
		rows[i] = []rune(strings.Repeat(" ", width+1))
	}
	for _, at := range p.Points {
		x, y := int(math.Round(at.X/mostX*width)), int(math.Round(at.Y/mostY*height))
		rows[height-y][x] = '●'
	}
	fmt.Fprintf(w, "\n%s against %s\n", p.Y, p.X)
	for i, row := range rows {
		label := ""
		if i%4 == 0 {
			label = digits(mostY * float64(height-i) / height)
		}
		fmt.Fprintf(w, "%8s │%s\n", label, strings.TrimRight(string(row), " "))
	}
	fmt.Fprintf(w, "%8s └%s\n%9s%-*s%s\n", "", strings.Repeat("─", width+1), "", width-2, " 0", digits(mostX))
	for _, at := range p.Points {
		fmt.Fprintf(w, "%9s %s: %s\n", "", digits(at.X), digits(at.Y))
	}
	fmt.Fprintln(w)
}
