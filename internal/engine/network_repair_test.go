package engine

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"taproom/internal/engine/store"
	"taproom/internal/network/why"
	"taproom/internal/spec"
)

func TestWhatIsNotTakenBackStaysWrittenDown(t *testing.T) {
	t.Parallel()
	e := small(t)
	e.troubles = newTroubles()
	var err error
	if e.repairs, err = store.Open[repaired](e.k, e.paths.Repairs(), false); err != nil {
		t.Fatal(err)
	}
	over, cancel := context.WithCancel(t.Context())
	cancel()
	for what, c := range map[string]struct {
		ctx  context.Context
		undo []string
		says string // "" is that it is done
	}{
		"the daemon ends":                     {over, []string{"true"}, "context canceled"},
		"a program fails":                     {t.Context(), []string{"sh", "-c", "echo the lock >&2; exit 4"}, "take back what was put among others' rules, \"sh -c echo the lock >&2; exit 4\": sh -c echo the lock >&2; exit 4: exit status 4: the lock"},
		"nobody can tell whether it is there": {t.Context(), []string{"sh", "-c", "[ $0 = -D ] || exit 4", "-D"}, "exit status 4"},
		"it cannot be removed":                {t.Context(), []string{"sh", "-c", "[ $0 = -C ] || exit 1", "-D"}, "exit status 1"},
		"it is gone already":                  {t.Context(), []string{"sh", "-c", "[ $0 = -C ] && exit 1; exit 4", "-D"}, ""},
		"the program has been removed":        {t.Context(), []string{"taproom-no-such-program", "-D"}, ""},
	} {
		id := spec.NewUUID()
		done := repaired{Network: "lab", UUID: id, Repairs: []why.Repair{{Undo: [][]string{c.undo}}, {Undo: [][]string{{"true"}}}}}
		if err := e.repairs.Put(store.Item[repaired]{Key: id.String(), Head: done}); err != nil {
			t.Fatal(err)
		}
		err := e.unrepair(c.ctx, id)
		if c.says == "" && err != nil || c.says != "" && (err == nil || !strings.Contains(err.Error(), c.says)) {
			t.Errorf("%s: %v", what, err)
		}
		if _, written, err := e.repairsOf(id); err != nil || written != (c.says != "") {
			t.Errorf("%s: it is written down: %t, %v", what, written, err)
		}
		n := newNetwork(id, "lab", nil)
		e.unrepairLate(c.ctx, n)
		e.unrepairLate(c.ctx, n)
		shown := strings.Join(e.troubles.all(), "\n")
		if c.says == "" && shown != "" || c.says != "" && strings.Count(shown, "network 'lab': what was put among others' rules for it is still there: ") != 1 {
			t.Errorf("%s: it is shown: %q", what, shown)
		}
		e.troubles.forget(id)
	}
}

// A rule that is there twice, as a program leaves it that its daemon's end did not end, goes whole.
func TestARuleIsTakenBackAsOftenAsItIsThere(t *testing.T) {
	t.Parallel()
	e := small(t)
	left := filepath.Join(t.TempDir(), "rules")
	if err := os.WriteFile(left, []byte("x\nx\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	undo := []string{"sh", "-c", `if [ $1 = -C ]; then grep -q . $0; else sed -i 1d $0; fi`, left, "-D"}
	if err := e.takeBack(t.Context(), why.Repair{Undo: [][]string{undo}}); err != nil {
		t.Error(err)
	}
	if text, err := os.ReadFile(left); err != nil || len(text) > 0 {
		t.Errorf("there is still %q, %v", text, err)
	}
}
