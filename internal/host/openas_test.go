package host_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"

	"taproom/internal/host"
)

func TestOpenAsSeesAFileAsItsUserDoesAndNamesWhatIsInTheWay(t *testing.T) {
	t.Parallel()
	k := host.New(host.Options{})
	defer k.Close()
	dir := t.TempDir()
	for _, d := range []string{dir, filepath.Dir(dir)} { // those of the test are its own
		if err := os.Chmod(d, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	at := func(name string) string { return filepath.Join(dir, name) }
	for _, f := range []struct {
		name string
		mode fs.FileMode
	}{{"open", 0o644}, {"closed", 0o600}, {"root's group", 0o640}, {"private/inside/file", 0o644}} {
		if err := os.MkdirAll(filepath.Dir(at(f.name)), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(at(f.name), nil, f.mode); err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(os.Chmod(at("private"), 0o700), unix.Mkfifo(at("fifo"), 0o644)); err != nil {
		t.Fatal(err)
	}
	const user = 3_000_000_007 // users from 2^31 on are users too
	for name, want := range map[string]string{
		"open":                "",
		"fifo":                "",
		"gone":                "open " + at("gone") + ": no such file or directory",
		"closed":              "user 3000000007 may not read it: chmod o+r " + at("closed"),
		"root's group":        "user 3000000007 may not read it: chmod o+r " + at("root's group"),
		"private/inside/file": "user 3000000007 may not enter " + at("private") + ": chmod o+x " + at("private") + ", or put the file elsewhere",
	} {
		f, err := k.OpenAs(at(name), user, user)
		if err == nil {
			f.Close()
		}
		if err == nil && want != "" || err != nil && err.Error() != want {
			t.Errorf("%s: %v, want %q", name, err, want)
		}
		if errors.As(err, new(*host.NotAllowed)) != errors.Is(err, unix.EACCES) {
			t.Errorf("%s: %v is not both", name, err)
		}
	}
	for range 100 { // every thread that served is root again
		f, err := os.Open(at("closed"))
		if err != nil {
			t.Fatal(err)
		}
		f.Close()
	}
}
