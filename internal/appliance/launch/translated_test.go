package launch

import (
	"regexp"
	"strconv"
	"testing"
)

// littleIsTranslated counts what QEMU had to translate of the guest's code until a clone was ready: that is most of the time it took, and
// the same on a busy host. There were twice to three times as many when each clone's greeting opened, made and mounted files, and Go's runtime watched over
// that with signals.
func littleIsTranslated(t *testing.T, l *Launcher) {
	if l.Accelerator() != "tcg" {
		t.Logf("%s translates nothing", l.Accelerator())
		return
	}
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
	const most = 7000
	if n, err := strconv.Atoi(m[1]); err != nil || n < 100 || n > most {
		t.Errorf("%d blocks of the guest's code were translated until it was ready (%v), want at most %d", n, err, most)
	} else {
		t.Logf("%d blocks", n)
	}
}
