package launch

import (
	"regexp"
	"strconv"
	"testing"
)

// littleIsTranslated counts what QEMU had to translate of the guest's code until a clone was ready: that is most of the time it took. There
// were twice to three times as many when each clone's greeting opened, made and mounted files, and Go's runtime watched over that
// with signals. A clone that is interrupted on a busy host runs more code than it needs: the least of several counts.
func littleIsTranslated(t *testing.T, l *Launcher) {
	if l.Accelerator() != "tcg" {
		t.Logf("%s translates nothing", l.Accelerator())
		return
	}
	const most = 7000
	var all []int
	for range 5 {
		n := translated(t, l)
		if all = append(all, n); n > 100 && n <= most {
			return
		}
	}
	t.Errorf("%d blocks of the guest's code were translated until clones were ready, want at most %d", all, most)
}

// translated is how many blocks of code one clone needed.
func translated(t *testing.T, l *Launcher) int {
	t.Helper()
	a := launched(t, l)
	var said struct {
		Text string `json:"human-readable-text"`
	}
	if err := qemuOf(t, a).qemu.QMP().Execute(t.Context(), "x-query-jit", nil, &said); err != nil {
		t.Fatal(err)
	}
	m := regexp.MustCompile(`TB count +(\d+)`).FindStringSubmatch(said.Text)
	if m == nil {
		t.Fatalf("QEMU said no number of blocks: %s", said.Text)
	}
	n, err := strconv.Atoi(m[1])
	if err != nil {
		t.Fatal(err)
	}
	return n
}
