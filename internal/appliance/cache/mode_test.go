package cache

import (
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// maskedEnv names a folder to a process of this test that has a umask of its own: that is a process's, and tests run side by side.
const maskedEnv = "TAPROOM_TEST_MASKED"

func TestWhatTheCacheKeepsCanBeReadWhateverTheUmask(t *testing.T) {
	t.Parallel()
	if dir := os.Getenv(maskedEnv); dir != "" {
		masked(t, dir)
		return
	}
	dir := t.TempDir()
	c := exec.CommandContext(t.Context(), "sh", "-c", `umask 077; exec "$0" "$@"`, "", "-test.run=^"+t.Name()+"$")
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	c.Args[3] = self
	c.Env = append(os.Environ(), maskedEnv+"="+dir)
	if out, err := c.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	for path, want := range map[string]fs.FileMode{
		"user": fs.ModeDir | 0o700, "user/own": fs.ModeDir | 0o700, "user/own/cache": fs.ModeDir | 0o755,
		"a": fs.ModeDir | 0o755, "a/cache": fs.ModeDir | 0o755, "a/cache/published": 0o644, "a/cache/file": 0o644, "a/cache/lock": 0o600,
	} {
		info, err := os.Stat(filepath.Join(dir, path))
		if err != nil || info.Mode() != want {
			t.Errorf("%s: %v (%v), want %v", path, info, err, want)
		}
	}
}

// masked makes all that a cache has.
func masked(t *testing.T, dir string) {
	if err := makeFolder(filepath.Join(dir, "user/own/cache"), false); err != nil {
		t.Error(err)
	}
	if os.Geteuid() != 0 { // who has the folder above, too
		if err := os.Mkdir(filepath.Join(dir, "a"), 0o755); err != nil {
			t.Error(err)
		}
		if err := os.Chmod(filepath.Join(dir, "a"), 0o755); err != nil {
			t.Error(err)
		}
	}
	c, err := Open(filepath.Join(dir, "a/cache"))
	if err != nil {
		t.Fatal(err)
	}
	unlock, err := c.Lock(t.Context(), func() {})
	if err != nil {
		t.Fatal(err)
	}
	defer unlock()
	if _, err := c.Publish("published", func(*os.File) error { return nil }); err != nil {
		t.Error(err)
	}
	if err := WriteFile(c.Path("file"), nil); err != nil {
		t.Error(err)
	}
	if err := MkdirAll(c.Path("file")); err == nil {
		t.Error("a file is a folder")
	}
}
