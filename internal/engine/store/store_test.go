package store

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"taproom/internal/host"
)

type head struct {
	Name string `json:"name"`
	On   bool   `json:"on"`
}

func open(t *testing.T, dir string) *Store[head] {
	t.Helper()
	s, err := Open[head](host.New(host.Options{}), dir, true)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func load(t *testing.T, s *Store[head]) ([]Item[head], []*Damaged) {
	t.Helper()
	items, damaged, err := s.Load()
	if err != nil {
		t.Fatal(err)
	}
	return items, damaged
}

func TestWhatWasPutIsLoadedAndWhatWasDeletedIsNot(t *testing.T) {
	t.Parallel()
	s := open(t, t.TempDir())
	want := []Item[head]{
		{Key: "a", Head: head{Name: "one"}, Doc: []byte("<a>\n</a>\n")},
		{Key: "b", Head: head{Name: "two", On: true}, Doc: []byte{}},
	}
	for _, i := range append(want, Item[head]{Key: "c"}) {
		if err := s.Put(i); err != nil {
			t.Fatal(err)
		}
	}
	for range 2 { // the second finds nothing to delete
		if err := s.Delete("c"); err != nil {
			t.Fatal(err)
		}
	}
	got, damaged := load(t, s)
	if d := cmp.Diff(want, got); d != "" || damaged != nil {
		t.Errorf("damaged %v, difference:\n%s", damaged, d)
	}
}

func TestADamagedFileIsSetAsideAndTheOthersAreLoaded(t *testing.T) {
	t.Parallel()
	whole := func(dir string) string { return filepath.Join(dir, "x.state") }
	for name, damage := range map[string]func([]byte) []byte{
		"it does not begin as a state file":      func([]byte) []byte { return nil },
		"it ends within its first line":          func(b []byte) []byte { return b[:40] },
		"its checksum does not match":            func(b []byte) []byte { return b[:len(b)-1] },
		"its checksum does not match (flipped)":  func(b []byte) []byte { b[len(b)-2] ^= 1; return b },
		"it does not begin as a state file (nl)": func(b []byte) []byte { return append([]byte("\n"), b...) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			s := open(t, dir)
			for _, key := range []string{"x", "y"} {
				if err := s.Put(Item[head]{Key: key, Head: head{Name: key}, Doc: []byte("<doc/>")}); err != nil {
					t.Fatal(err)
				}
			}
			b, err := os.ReadFile(whole(dir))
			if err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(whole(dir), damage(bytes.Clone(b)), 0o600); err != nil {
				t.Fatal(err)
			}
			items, damaged := load(t, s)
			if len(items) != 1 || items[0].Key != "y" {
				t.Errorf("loaded %+v, want y alone", items)
			}
			if len(damaged) != 1 || !strings.HasPrefix(name, damaged[0].Reason) {
				t.Fatalf("damaged %v, want one: %s", damaged, name)
			}
			if n := damaged[0].Name; n != "" && n != "x" {
				t.Errorf("it is taken for %q", n)
			}
			if _, err := os.Stat(damaged[0].Aside); err != nil {
				t.Errorf("the damaged file is not where the error says: %v", err)
			}
			for key, want := range map[string]bool{"x": true, "y": false} {
				if got, err := s.IsAside(key); got != want || err != nil {
					t.Errorf("%s is aside: %v, %v", key, got, err)
				}
			}
			if _, again := load(t, s); again != nil {
				t.Errorf("reported twice: %v", again)
			}
		})
	}
}

func TestWhatCannotBeReadIsSetAsideUnlessTheMachineLacksSomething(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s := open(t, dir)
	if err := s.Put(Item[head]{Key: "y", Head: head{Name: "y"}}); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(filepath.Join(dir, "folder.state"), 0o700); err != nil {
		t.Fatal(err)
	}
	items, damaged := load(t, s)
	want := "state file " + dir + "/folder.state is damaged (it cannot be read: is a directory); it was moved to " + dir + "/folder.state.damaged"
	if len(items) != 1 || len(damaged) != 1 || damaged[0].Error() != want {
		t.Errorf("loaded %+v, damaged %v, want %s", items, damaged, want)
	}
}

func TestAnyDocumentComesBackAsItWas(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s := open(t, dir)
	rapid.Check(t, func(t *rapid.T) {
		want := Item[head]{
			Key:  "k",
			Head: head{Name: rapid.String().Draw(t, "name")},
			Doc:  rapid.SliceOf(rapid.Byte()).Draw(t, "doc"),
		}
		if err := s.Put(want); err != nil {
			t.Fatal(err)
		}
		items, damaged, err := s.Load()
		if err != nil || damaged != nil || len(items) != 1 {
			t.Fatalf("load: %v, %v, %v", items, damaged, err)
		}
		if items[0].Head.Name != strings.ToValidUTF8(want.Head.Name, "\uFFFD") || !bytes.Equal(items[0].Doc, want.Doc) {
			t.Fatalf("got %+v, want %+v", items[0], want)
		}
	})
}

func TestOnlyADurableStoreWaitsForTheDiskAndAlsoWhenItDeletes(t *testing.T) {
	t.Parallel()
	for durable, want := range map[bool]int{true: 3, false: 0} { // a file and its directory, and the directory again
		syncs := 0
		k := host.New(host.Options{Hook: func(call string) {
			if strings.Contains(call, "sync") {
				syncs++
			}
		}})
		s, err := Open[head](k, t.TempDir(), durable)
		if err != nil {
			t.Fatal(err)
		}
		if err := errors.Join(s.Put(Item[head]{Key: "a"}), s.Delete("a")); err != nil {
			t.Fatal(err)
		}
		if syncs != want {
			t.Errorf("durable %v: synced %d times, want %d", durable, syncs, want)
		}
	}
}
