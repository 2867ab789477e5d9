package disk

import (
	"io/fs"
	"strings"
	"testing"
)

// A path that a side could not read is no difference, nor are the paths below it; the rest are.
func TestDiffer_LeavesOutWhatOneSideCouldNotRead(t *testing.T) {
	t.Parallel()
	make := func(number int, names, missed string) *side {
		s := &side{number: number, top: "/", missed: map[string]bool{}}
		for _, name := range strings.Fields(names) {
			folder := Info{Path: name}
			folder.Mode = fs.ModeDir | 0o755
			if err := s.names.add(folder); err != nil {
				t.Fatal(err)
			}
		}
		for _, name := range strings.Fields(missed) {
			s.missed[name] = true
		}
		return s
	}
	for _, c := range []struct{ left, leftMissed, right, rightMissed, want string }{
		{left: "/ /a /b", right: "/ /a /c", want: "removed /b, added /c"},
		{left: "/ /a /a/x /a/x/y /b", right: "/ /a", rightMissed: "/a", want: "removed /b"},
		{left: "/ /a", leftMissed: "/a", right: "/ /a /a/x /ab", want: "added /ab"},
		{left: "/ /f", right: "/", rightMissed: "/f"},
		{left: "/", leftMissed: "/", right: "/ /a /a/b"},
		{left: "/ /a /a/x", leftMissed: "/a", right: "/", want: "removed /a, removed /a/x"},
	} {
		var summary DiffSummary
		d := differ{a: make(0, c.left, c.leftMissed), b: make(1, c.right, c.rightMissed), o: DiffOptions{Quick: true}, summary: &summary}
		var got []string
		err := d.run(t.Context(), func(x Difference) error {
			got = append(got, string(x.Kind)+" "+x.Path)
			return nil
		})
		if err != nil || strings.Join(got, ", ") != c.want {
			t.Errorf("%+v: %q, %v", c, got, err)
		}
	}
}
