package engine

import (
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
