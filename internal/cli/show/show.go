// Package show is how commands print what they found: tables, and names that a stranger chose.
package show

import (
	"fmt"
	"io"
	"strconv"
	"strings"
	"text/tabwriter"
	"unicode/utf8"
)

// Table writes rows in columns.
func Table(w io.Writer, rows [][]string) error {
	t := tabwriter.NewWriter(w, 0, 8, 2, ' ', 0)
	for _, r := range rows {
		fmt.Fprintln(t, strings.Join(r, "\t"))
	}
	return t.Flush()
}

// Dash is words, or a dash where there are none.
func Dash(words ...string) string {
	if s := strings.Join(words, " "); s != "" {
		return s
	}
	return "-"
}

// Name is a name that a stranger chose, fit for a terminal: quoted where it has what is not printed, a quote or a backslash.
func Name(name string) string {
	if !utf8.ValidString(name) || strings.ContainsFunc(name, func(r rune) bool { return !strconv.IsPrint(r) || r == '"' || r == '\\' }) {
		return strconv.Quote(name)
	}
	return name
}

// Size is a number of bytes, for people.
func Size(n int64) string {
	const units = "KMGTPE"
	if n < 1024 {
		return fmt.Sprintf("%d B", n)
	}
	v, i := float64(n)/1024, 0
	for ; v >= 1024 && i < len(units)-1; i++ {
		v /= 1024
	}
	return fmt.Sprintf("%.1f %ciB", v, units[i])
}
