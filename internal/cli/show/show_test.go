package show_test

import (
	"strings"
	"testing"

	"taproom/internal/cli/show"
)

func TestNamesOfStrangersAreFitForATerminal(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]string{"motd": "motd", "two words": "two words", "a\nb": `"a\nb"`, "\x1b[2J": `"\x1b[2J"`, `"`: `"\""`, "ä": "ä", "\xff": `"\xff"`} {
		if got := show.Name(name); got != want {
			t.Errorf("%q: %s, want %s", name, got, want)
		}
	}
}

func TestSizesAndTables(t *testing.T) {
	t.Parallel()
	for n, want := range map[int64]string{0: "0 B", 1023: "1023 B", 1024: "1.0 KiB", 1536 << 20: "1.5 GiB", 1<<63 - 1: "8.0 EiB"} {
		if got := show.Size(n); got != want {
			t.Errorf("%d: %s, want %s", n, got, want)
		}
	}
	var b strings.Builder
	if err := show.Table(&b, [][]string{{"A", "LONGER"}, {"longer", show.Dash()}}); err != nil || b.String() != "A       LONGER\nlonger  -\n" {
		t.Errorf("%q, %v", b.String(), err)
	}
}
