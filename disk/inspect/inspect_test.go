package inspect_test

import (
	"bytes"
	"compress/gzip"
	"debug/elf"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/tools/txtar"

	"taproom/disk/inspect"
	"taproom/disk/inspect/internal/regf/regftest"
)

// wantName is the file of an archive with what is expected; the others are the tree.
const wantName = "want.json"

// tree makes a file system of an archive's files. A name "A -> B" is a symbolic link, "A (elf 62 64)" a program for the machine 62 with words of
// 64 bits, "A (gz FILE)" what a compressed file holds, "A (hive)" a registry hive with a
// value in each line, as KEY\NAME=TEXT or, where the name has a backslash, KEY::NAME=TEXT.
func tree(t testing.TB, files []txtar.File) memory {
	t.Helper()
	m := memory{}
	for _, f := range files {
		name, what, special := strings.Cut(strings.TrimSuffix(f.Name, ")"), " (")
		if from, target, ok := strings.Cut(f.Name, " -> "); ok {
			m.link(from, target)
		} else if !special {
			m[f.Name] = &fstest.MapFile{Data: f.Data, Mode: 0o644}
		} else {
			m[name] = &fstest.MapFile{Data: made(t, what, f.Data), Mode: 0o644}
		}
	}
	return m
}

func made(t testing.TB, what string, text []byte) []byte {
	t.Helper()
	switch kind, rest, _ := strings.Cut(what, " "); kind {
	case "elf":
		var m elf.Machine
		var bits int
		if _, err := fmt.Sscan(rest, (*uint16)(&m), &bits); err != nil {
			t.Fatal(err)
		}
		h := append([]byte(elf.ELFMAG), byte(bits/32), byte(elf.ELFDATA2LSB))
		return binary.LittleEndian.AppendUint16(append(h, make([]byte, 12)...), uint16(m))
	case "gz":
		f, err := os.Open(rest)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		z, err := gzip.NewReader(f)
		if err != nil {
			t.Fatal(err)
		}
		b, err := io.ReadAll(z)
		if err != nil {
			t.Fatal(err)
		}
		return b
	case "hive":
		var k regftest.Key
		for line := range strings.Lines(string(text)) {
			path, text, _ := strings.Cut(strings.TrimSpace(line), "=")
			key, name, ok := strings.Cut(path, "::")
			if last := strings.LastIndexByte(path, '\\'); !ok {
				key, name = path[:last], path[last+1:]
			}
			var n uint32
			var value any = text
			if _, err := fmt.Sscanf(text, "dword:%d", &n); err == nil {
				value = n
			}
			k.Set(key, name, value)
		}
		return regftest.Hive(k)
	}
	t.Fatalf("what is %q?", what)
	return nil
}

// Each archive of testdata is a tree and what is found in it. TAPROOM_UPDATE=1 writes the latter anew.
func TestSystemsAreRecognised(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("testdata/*.txtar")
	if err != nil || len(files) == 0 {
		t.Fatalf("no archives: %v", err)
	}
	for _, name := range files {
		t.Run(strings.TrimSuffix(filepath.Base(name), ".txtar"), func(t *testing.T) {
			t.Parallel()
			a, err := txtar.ParseFile(name)
			if err != nil {
				t.Fatal(err)
			}
			i := slices.IndexFunc(a.Files, func(f txtar.File) bool { return f.Name == wantName })
			var want []byte
			if i >= 0 {
				want = a.Files[i].Data
				a.Files = slices.Delete(a.Files, i, i+1)
			}
			m := tree(t, a.Files)
			if !inspect.IsRoot(m) {
				t.Error("it is not recognised as a system's root")
			}
			s, err := inspect.Inspect(m, inspect.Options{})
			if err != nil {
				t.Fatal(err)
			}
			got, err := json.MarshalIndent(s, "", " ")
			if err != nil {
				t.Fatal(err)
			}
			got = append(got, '\n')
			if os.Getenv("TAPROOM_UPDATE") != "" {
				a.Files = append(a.Files, txtar.File{Name: wantName, Data: got})
				if err := os.WriteFile(name, txtar.Format(a), 0o600); err != nil {
					t.Fatal(err)
				}
				return
			}
			if d := cmp.Diff(string(want), string(got)); d != "" {
				t.Errorf("(-want +got):\n%s", d)
			}
		})
	}
}

func TestATreeWithoutASystemIsSaidToBeOne(t *testing.T) {
	t.Parallel()
	for _, m := range []memory{{}, {"home/me/letter": {}}, {"etc/fstab": {}}, {"Windows/System32/drivers/etc/hosts": {}}} {
		if _, err := inspect.Inspect(m, inspect.Options{}); !errors.Is(err, inspect.ErrNone) || inspect.IsRoot(m) {
			t.Errorf("%v: %v", m, err)
		}
	}
	if _, err := inspect.Inspect(os.DirFS("/none"), inspect.Options{}); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a root that is not there: %v", err)
	}
}

func TestPackagesAreLeftOutWhereNobodyAskedForThem(t *testing.T) {
	t.Parallel()
	m := memory{"etc/os-release": {Data: []byte("ID=debian\n")}, "var/lib/dpkg/status": {Data: []byte("Package: a\nStatus: install ok installed\nVersion: 1\n")}}
	for _, without := range []bool{false, true} {
		s, err := inspect.Inspect(m, inspect.Options{NoPackages: without})
		if err != nil || (len(s.Packages) == 0) != without {
			t.Errorf("without %v: %v, %v", without, s.Packages, err)
		}
	}
}

// What somebody made to mislead takes bounded time and memory, and is a problem beside what was found.
func TestHostileTreesAreBounded(t *testing.T) {
	t.Parallel()
	release := &fstest.MapFile{Data: []byte("ID=debian\nPRETTY_NAME='Debian\x1b[2J'\n" + strings.Repeat("X=1\n", 5000))}
	long := strings.Repeat("A", 100_000)
	for name, c := range map[string]struct {
		files   memory
		problem string
	}{
		"a link to itself":         {memory{"etc/hostname": {Data: []byte("/etc/hostname"), Mode: fs.ModeSymlink}}, ""},
		"links in a loop":          {memory{"etc/hostname": {Data: []byte("mailname"), Mode: fs.ModeSymlink}, "etc/mailname": {Data: []byte("hostname"), Mode: fs.ModeSymlink}}, "/etc/hostname: too many levels of symbolic links"},
		"a link out of the tree":   {memory{"etc/hostname": {Data: []byte("../../../../../etc/hostname2"), Mode: fs.ModeSymlink}}, ""},
		"a folder for a file":      {memory{"etc/hostname/x": {}}, "/etc/hostname: it is no regular file, but d---------"},
		"a device for a file":      {memory{"etc/hostname": {Mode: fs.ModeDevice | fs.ModeCharDevice}}, "/etc/hostname: it is no regular file, but Dc---------"},
		"a configuration too long": {memory{"etc/fstab": {Data: bytes.Repeat([]byte("x"), 2<<20)}}, "/etc/fstab: it has 2097152 bytes, more than the 1048576 that are read of it"},
		"a file for a folder":      {memory{"lib/modules": {}}, "/lib/modules: it is no folder"},
		"a package without end":    {memory{"var/lib/dpkg/status": {Data: []byte("Package: " + long + "\nStatus: install ok installed\n" + long + long)}}, ""},
		"no database":              {memory{"var/lib/rpm/rpmdb.sqlite": {Data: []byte(long)}}, "/var/lib/rpm/rpmdb.sqlite: the SQLite database is damaged: it does not begin as one"},
		"an empty ndb":             {memory{"var/lib/rpm/Packages.db": {}}, "/var/lib/rpm/Packages.db: the database of rpm is damaged: its head cannot be read: EOF"},
	} {
		c.files["etc/os-release"] = release
		s, err := inspect.Inspect(c.files, inspect.Options{})
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		var problems []string
		for _, p := range s.Problems {
			problems = append(problems, p.Path+": "+p.What)
		}
		if strings.Join(problems, "; ") != c.problem {
			t.Errorf("%s: problems %q, want %q", name, problems, c.problem)
		}
		if s.Distribution != "debian" || s.Hostname != "" {
			t.Errorf("%s: %+v", name, s)
		}
		for _, p := range s.Packages {
			if len(p.Name) > 4096 {
				t.Errorf("%s: a name of %d bytes", name, len(p.Name))
			}
		}
	}
}

func FuzzSystem(f *testing.F) {
	archives, _ := filepath.Glob("testdata/*.txtar")
	for _, name := range archives {
		b, err := os.ReadFile(name)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(b)
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		m := memory{}
		for _, file := range txtar.Parse(b).Files {
			name, target, link := strings.Cut(file.Name, " -> ")
			switch {
			case !fs.ValidPath(name) || name == ".": // no file of a tree
			case link:
				m.link(name, target)
			default:
				m[name] = &fstest.MapFile{Data: file.Data}
			}
		}
		s, err := inspect.Inspect(m, inspect.Options{})
		if err != nil {
			return
		}
		if !inspect.IsRoot(m) {
			t.Error("it is a system, but no root of one")
		}
		if _, err := json.Marshal(s); err != nil {
			t.Error(err)
		}
	})
}
