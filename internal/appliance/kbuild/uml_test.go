package kbuild

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"testing"
)

func TestEditsChangeASourceOnceOrSayThatItIsAnother(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	path := filepath.Join(dir, "a.c")
	for _, c := range []struct {
		before string // "": no file
		e      edit
		want   string // "": an EditError
	}{
		{"one two three", edit{"a.c", "two", "2"}, "one 2 three"},
		{"one", edit{"a.c", "", " more"}, "one more"},
		{"", edit{"a.c", "", "new"}, "new"},
		{"one two two", edit{"a.c", "two", "2"}, ""},
		{"one", edit{"a.c", "two", "2"}, ""},
	} {
		_ = os.Remove(path)
		if c.before != "" {
			if err := os.WriteFile(path, []byte(c.before), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		err := c.e.apply(dir)
		got, _ := os.ReadFile(path)
		var other *EditError
		if c.want == "" && (!errors.As(err, &other) || string(got) != c.before) {
			t.Errorf("%+v: %v, and %q", c, err, got)
		}
		if c.want != "" && (err != nil || string(got) != c.want) {
			t.Errorf("%+v: %q, %v", c, got, err)
		}
	}
	if err := (edit{"none.c", "two", "2"}).apply(dir); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a file that is not there: %v", err)
	}
}

func TestUMLHasTheFileSystemsOfOtherAppliancesAndNothingOfTheHost(t *testing.T) {
	t.Parallel()
	c := UML()
	got, others := options(c.Fragment), options(applianceFragment)
	if err := c.check(c.Fragment); err != nil {
		t.Errorf("it does not agree with itself: %v", err)
	}
	for _, line := range bytes.Split(section("File systems"), []byte("\n")) {
		name, _, found := bytes.Cut(line, []byte("="))
		if found && got[string(name)] != others[string(name)] {
			t.Errorf("%s is %q, and %q for others", name, got[string(name)], others[string(name)])
		}
	}
	for name, want := range map[string]string{"CONFIG_HOSTFS": "", "CONFIG_MCONSOLE": "", "CONFIG_UML_NET": "", "CONFIG_BLK_DEV_UBD": "y", "CONFIG_XFS_FS": "y", "CONFIG_BLK_DEV_DM": "y", "CONFIG_UNIX": "y"} {
		if got[name] != want {
			t.Errorf("%s is %q, want %q", name, got[name], want)
		}
	}
	other := UML()
	other.edits = other.edits[1:]
	if other.hash() == c.hash() {
		t.Error("what is changed in the source does not change the kernel's name")
	}
}
