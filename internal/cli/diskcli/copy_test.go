package diskcli

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"taproom/disk"
)

func TestProgressIsForTerminals(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	p, end := (&Env{Stderr: &b}).meter("copied")
	end()
	if p != nil || b.String() != "" {
		t.Errorf("%q for no terminal", b.String())
	}
	p, end = (&Env{Stderr: &b, ErrTerminal: true}).meter("copied")
	p(2<<20, 0)
	end()
	if want := "\rcopied: 2.0 MiB\x1b[K\r\x1b[K"; b.String() != want {
		t.Errorf("got %q, want %q", b.String(), want)
	}
}

func TestATargetIsAFreeName(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "there"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ to, at, name, fails string }{
		{to: dir, at: "/etc/fstab", name: "fstab"},
		{to: dir, at: "../etc/", name: "etc"},
		{to: filepath.Join(dir, "new"), at: "/etc/fstab", name: "new"},
		{to: dir, at: "/x/..", fails: "it has no name there"},
		{to: dir, at: "/etc/there", fails: "remove it"},
		{to: filepath.Join(dir, "there"), at: "/etc", fails: "remove it"},
		{to: filepath.Join(dir, "none") + "/", at: "/etc", fails: "make it"},
	} {
		in, name, err := target(c.to, c.at)
		if c.fails != "" {
			if err == nil || !strings.Contains(err.Error(), c.fails) {
				t.Errorf("%s to %s: %v, want %q", c.at, c.to, err, c.fails)
			}
			continue
		}
		if err != nil || in != dir || name != c.name {
			t.Errorf("%s to %s: %s, %s (%v)", c.at, c.to, in, name, err)
		}
	}
}

func TestAnArchiveThatIsNotWholeIsRemoved(t *testing.T) {
	t.Parallel()
	name := filepath.Join(t.TempDir(), "a.tar")
	env := &Env{}
	_, done, err := env.create(name)
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err := env.create(name); !errors.Is(err, os.ErrExist) {
		t.Errorf("a file that is there: %v", err)
	}
	if err := done(io.ErrShortWrite); !errors.Is(err, io.ErrShortWrite) {
		t.Errorf("%v", err)
	}
	if _, err := os.Stat(name); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("it is there: %v", err)
	}
}

func TestACompressedArchiveIsKnown(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{"\x1f\x8bxxxx": "zcat", "\x28\xb5\x2f\xfdxx": "zstdcat", "": "it is empty", "./file": ""} {
		r, err := plain(strings.NewReader(text), "-")
		if want != "" {
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%q: %v, want %q", text, err, want)
			}
			continue
		}
		if b, rerr := io.ReadAll(r); err != nil || rerr != nil || string(b) != text {
			t.Errorf("%q: %q (%v, %v)", text, b, err, rerr)
		}
	}
}

func TestAnImageIsOpenedAsTheCommandNeedsIt(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		s    single
		want disk.Access
	}{
		{single{}, disk.Discard},
		{single{sources: sources{write: true}}, disk.Write},
		{single{sources: sources{write: true}, atomic: true}, disk.Atomic},
	} {
		if got := c.s.access(); got != c.want {
			t.Errorf("%+v: %v, want %v", c.s, got, c.want)
		}
	}
}
