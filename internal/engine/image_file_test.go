package engine

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
)

// Anybody may know the UUID of a guest, and put something in the place of its image into a folder like /tmp.
func TestAnImageIsWrittenToAFileOfItsOwn(t *testing.T) {
	t.Parallel()
	e, dir := small(t), t.TempDir()
	other := filepath.Join(dir, "other")
	for name, plant := range map[string]func(temp string) error{
		"a link": func(temp string) error { return os.Symlink(other, temp) },
		"a file": func(temp string) error { return os.Link(other, temp) },
	} {
		if err := os.WriteFile(other, []byte("kept"), 0o600); err != nil {
			t.Fatal(err)
		}
		path := filepath.Join(dir, "image")
		temp := tempName(path, "00000000-0000-4000-8000-000000000001")
		if err := plant(temp); err != nil {
			t.Fatal(err)
		}
		i, err := e.createImage(saving{Path: path, Temp: temp}, false, true)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if _, err := i.f.WriteString("state"); err != nil {
			t.Error(err)
		}
		_ = i.f.Close()
		_ = os.Remove(temp)
		if b, err := os.ReadFile(other); err != nil || string(b) != "kept" {
			t.Errorf("%s: the file that lay there has %q (%v)", name, b, err)
		}
	}
}

// A state that is whole can be lost between two looks at it, in a folder where others may remove and rename files. Then it is
// not said to be saved.
func TestAnImageThatSomebodyTookAwayIsNoImage(t *testing.T) {
	t.Parallel()
	e := small(t)
	for name, c := range map[string]struct {
		meddle func(s saving) error
		gone   bool
	}{
		"nobody":          {func(saving) error { return nil }, false},
		"a daemon before": {func(s saving) error { return os.Rename(s.Temp, s.Path) }, false},
		"removed":         {func(s saving) error { return os.Remove(s.Temp) }, true},
		"replaced":        {func(s saving) error { return errors.Join(os.Remove(s.Temp), os.WriteFile(s.Temp, []byte("x"), 0o600)) }, true},
		"replaced by a link": {func(s saving) error {
			return errors.Join(os.Rename(s.Temp, s.Temp+"2"), os.Symlink(s.Temp+"2", s.Temp))
		}, true},
		"another has the name": {func(s saving) error { return errors.Join(os.Remove(s.Temp), os.WriteFile(s.Path, []byte("x"), 0o600)) }, true},
	} {
		path := filepath.Join(t.TempDir(), "image")
		s := saving{Path: path, Temp: tempName(path, "1")}
		i, err := e.createImage(s, false, true)
		if err != nil {
			t.Fatal(err)
		}
		if err := errors.Join(s.identify(e.k, i), c.meddle(s)); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if err := publishImage(e.k, s); errors.Is(err, errImageGone) != c.gone || !c.gone && err != nil {
			t.Errorf("%s: got %v; gone: %v", name, err, c.gone)
		}
		_ = i.f.Close() // not before: a file made in the same instant could get its number
	}
}
