package inside

import (
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"

	"taproom/internal/appliance/proto"
)

// walked are the paths of a walk, sorted, with the number of a problem behind those that have one. Folders come before what is in them.
func walked(t *testing.T, c *proto.Client, m proto.Walk) []string {
	t.Helper()
	var got []string
	seen := map[string]bool{".": true}
	err := c.Walk(timeout(t), m, func(s proto.Step) error {
		if !seen[filepath.Dir(s.Path)] {
			t.Errorf("%s came before its folder", s.Path)
		}
		seen[s.Path] = true
		if s.Problem != 0 {
			got = append(got, fmt.Sprintf("%s (%v)", s.Path, unix.Errno(s.Problem)))
			return nil
		}
		got = append(got, s.Path)
		return nil
	})
	if err != nil {
		t.Error(err)
	}
	slices.Sort(got)
	return got
}

func TestAWalkComesByEverythingOnceAndLeavesTheTreeByNoLink(t *testing.T) {
	t.Parallel()
	root := image(t)
	c := serving(t, root)
	for name, m := range map[string]struct {
		walk proto.Walk
		want []string
	}{
		"whole": {proto.Walk{Path: "/"}, []string{
			"absolute", "deep", "deep/er", "deep/er/file", "etc", "etc/motd", "etc/passwd", "far", "folder", "loop", "magic", "out", "pipe", "up",
		}},
		"one folder":       {proto.Walk{Path: "/", Depth: 1}, []string{"absolute", "deep", "etc", "far", "folder", "loop", "magic", "out", "pipe", "up"}},
		"two folders":      {proto.Walk{Path: "/deep", Depth: 2, Stay: true}, []string{"er", "er/file"}},
		"by a link":        {proto.Walk{Path: "/folder/er"}, []string{"file"}},
		"above is the top": {proto.Walk{Path: "/../../deep"}, []string{"er", "er/file"}},
	} {
		if diff := cmp.Diff(m.want, walked(t, c, m.walk)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
	if err := c.Walk(timeout(t), proto.Walk{Path: "/etc/motd"}, nil); !errors.Is(err, unix.ENOTDIR) {
		t.Errorf("a file: %v", err)
	}
	enough := errors.New("enough")
	if err := c.Walk(timeout(t), proto.Walk{Path: "/"}, func(proto.Step) error { return enough }); !errors.Is(err, enough) {
		t.Errorf("a caller that has seen enough: %v", err)
	}
	if _, err := c.Stat(timeout(t), proto.Path{Path: "/etc"}); err != nil {
		t.Errorf("afterwards: %v", err)
	}
}

func TestAWalkOfManyFilesWithOddNamesIsWhole(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	want := []string{}
	for i := range 3000 {
		name := fmt.Sprintf("line\nbreak %d \xff", i)
		if err := os.WriteFile(filepath.Join(root, name), nil, 0o600); err != nil {
			t.Fatal(err)
		}
		want = append(want, name)
	}
	slices.Sort(want)
	if got := walked(t, serving(t, root), proto.Walk{Path: "/"}); !slices.Equal(got, want) {
		t.Errorf("%d names came, or others, of %d", len(got), len(want))
	}
}

// What is too deep to be named is a problem of its folder, and no end of the walk.
func TestAWalkEndsWherePathsBecomeTooLong(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	name := strings.Repeat("d", 200)
	dir, err := unix.Open(root, unix.O_PATH|unix.O_DIRECTORY, 0)
	for range 30 {
		if err == nil {
			err = unix.Mkdirat(dir, name, 0o700)
		}
		var next int
		if err == nil {
			next, err = unix.Openat(dir, name, unix.O_PATH|unix.O_DIRECTORY, 0)
		}
		_ = unix.Close(dir)
		dir = next
	}
	if err != nil {
		t.Fatal(err)
	}
	_ = unix.Close(dir)
	got := walked(t, serving(t, root), proto.Walk{Path: "/"})
	if len(got) != 21 || !strings.HasSuffix(got[20], fmt.Sprintf(" (%v)", unix.ENAMETOOLONG)) {
		t.Errorf("%d paths, the last ends in %q", len(got), got[len(got)-1][max(0, len(got[len(got)-1])-40):])
	}
}

func TestSubvolumesHaveThePathsThatLeadToThem(t *testing.T) {
	t.Parallel()
	refs := map[uint64]subvolumeRef{
		256: {256, topLevel, 256, "root"}, 257: {257, 256, 300, "inner"}, 258: {258, 259, 256, "a"}, 259: {259, 258, 256, "b"}, 260: {260, 999, 256, "lost"},
	}
	folder := func(r subvolumeRef) (string, error) {
		if r.folder == 300 {
			return "var/lib/", nil
		}
		return "", nil
	}
	for id, want := range map[uint64]string{256: "root", 257: "root/var/lib/inner", 258: "", 259: "", 260: ""} {
		if got, ok := subvolumePath(refs, refs[id], folder); got != want || ok != (want != "") {
			t.Errorf("%d: %q (%v), want %q", id, got, ok, want)
		}
	}
}

// searched is one item of a search in a tree of btrfs.
func searched(id, parent, folder uint64, kind uint32, name string) []byte {
	b := binary.LittleEndian.AppendUint64(nil, 7)
	b = binary.LittleEndian.AppendUint64(b, id)
	b = binary.LittleEndian.AppendUint64(b, parent)
	b = binary.LittleEndian.AppendUint32(b, kind)
	b = binary.LittleEndian.AppendUint32(b, uint32(rootRefHead+len(name)))
	b = binary.LittleEndian.AppendUint64(b, folder)
	b = binary.LittleEndian.AppendUint64(b, 1)
	b = binary.LittleEndian.AppendUint16(b, uint16(len(name)))
	return append(b, name...)
}

func FuzzSubvolumes(f *testing.F) {
	f.Add(slices.Concat(searched(256, 5, 256, rootBackRef, "home"), searched(257, 256, 300, 1, "x")), uint32(2))
	f.Fuzz(func(t *testing.T, b []byte, n uint32) {
		refs, last := parseRefs(b, n)
		for _, r := range refs {
			if r.name == "" || strings.ContainsAny(r.name, "/\x00") || r.id > last {
				t.Errorf("%+v of those up to %d", r, last)
			}
		}
	})
}

func TestASearchIsReadAsBtrfsWritesIt(t *testing.T) {
	t.Parallel()
	b := slices.Concat(searched(256, 5, 256, rootBackRef, "home"), searched(257, 256, 300, 1, "x"), searched(258, 256, 300, rootBackRef, "in"))
	refs, last := parseRefs(b, 3)
	want := []subvolumeRef{{256, 5, 256, "home"}, {258, 256, 300, "in"}}
	if diff := cmp.Diff(want, refs, cmp.AllowUnexported(subvolumeRef{})); diff != "" || last != 258 {
		t.Errorf("up to %d (-want +got):\n%s", last, diff)
	}
}
