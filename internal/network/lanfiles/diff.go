package lanfiles

import (
	"strings"
)

// around is how many lines beside a changed one are shown.
const around = 2

// Diff shows a change by lines: those that go begin with -, those that come with +.
func (c Change) Diff() string {
	old, now := lines(c.Before), lines(c.After)
	var out strings.Builder
	shown := edit(old, now)
	for i, l := range shown {
		near := false
		for j := max(0, i-around); j <= min(len(shown)-1, i+around); j++ {
			near = near || shown[j][0] != ' '
		}
		if near {
			out.WriteString(strings.TrimRight(l, " ") + "\n")
		}
	}
	return out.String()
}

func lines(s string) []string {
	if s == "" {
		return nil
	}
	return strings.Split(strings.TrimSuffix(s, "\n"), "\n")
}

// edit is the shortest way from one text to the other, by its longest common part.
func edit(a, b []string) []string {
	common := make([][]int, len(a)+1)
	for i := range common {
		common[i] = make([]int, len(b)+1)
	}
	for i := len(a) - 1; i >= 0; i-- {
		for j := len(b) - 1; j >= 0; j-- {
			if a[i] == b[j] {
				common[i][j] = common[i+1][j+1] + 1
			} else {
				common[i][j] = max(common[i+1][j], common[i][j+1])
			}
		}
	}
	var out []string
	i, j := 0, 0
	for i < len(a) || j < len(b) {
		switch {
		case i < len(a) && j < len(b) && a[i] == b[j]:
			out = append(out, " "+a[i])
			i, j = i+1, j+1
		case i < len(a) && (j == len(b) || common[i+1][j] >= common[i][j+1]):
			out = append(out, "-"+a[i])
			i++
		default:
			out = append(out, "+"+b[j])
			j++
		}
	}
	return out
}
