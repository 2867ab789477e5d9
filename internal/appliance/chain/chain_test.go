package chain

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"taproom/internal/host"
	"taproom/internal/host/hosttest"
)

func TestMain(m *testing.M) { hosttest.Main(m) }

// qemuImg makes or changes an image in dir.
func qemuImg(t *testing.T, dir string, args ...string) {
	t.Helper()
	c := exec.Command("qemu-img", args...)
	c.Dir = dir
	if out, err := c.CombinedOutput(); err != nil {
		t.Fatalf("qemu-img %q: %v: %s", args, err, out)
	}
}

func put(t *testing.T, path, text string) string {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// try opens an image and returns the formats of its layers.
func try(t *testing.T, i Image) (string, error) {
	t.Helper()
	c, err := Open(t.Context(), host.New(host.Options{}), i)
	if err != nil {
		return "", err
	}
	var formats []string
	for n, l := range c {
		formats = append(formats, l.Format)
		if (l.Writable != nil) != (i.Write && n == 0) {
			t.Errorf("layer %d of %s can be written: %v", n, i.Path, l.Writable != nil)
		}
	}
	if err := c.Close(); err != nil {
		t.Error(err)
	}
	return strings.Join(formats, " "), nil
}

func TestWhatAnImageLeadsToIsFollowedWhereTheCallerSaysSo(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for _, sub := range []string{"base", "other"} {
		if err := os.Mkdir(filepath.Join(dir, sub), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	at := func(name string) string { return filepath.Join(dir, name) }
	qemuImg(t, dir, "create", "-q", "-f", "raw", "base/raw", "1M")
	qemuImg(t, dir, "create", "-q", "-f", "qcow2", "-b", "raw", "-F", "raw", "base/middle")
	qemuImg(t, dir, "create", "-q", "-f", "qcow2", "-b", "base/middle", "-F", "qcow2", "top")
	qemuImg(t, dir, "create", "-q", "-f", "qcow2", "-u", "-b", "/etc/shadow", "-F", "raw", "shadow", "1M")
	qemuImg(t, dir, "create", "-q", "-f", "qcow2", "-u", "-b", "base/../other/link", "-F", "raw", "sly", "1M")
	qemuImg(t, dir, "create", "-q", "-f", "qcow2", "-u", "-b", "nbd://localhost:1/x", "-F", "raw", "remote", "1M")
	qemuImg(t, dir, "create", "-q", "-f", "qcow2", "-u", "-b", `json:{"driver":"file","filename":"/etc/shadow"}`, "-F", "raw", "json", "1M")
	qemuImg(t, dir, "create", "-q", "-f", "qcow2", "-u", "-b", "base/../self", "-F", "qcow2", "self", "1M")
	qemuImg(t, dir, "create", "-q", "-f", "qcow2", "-o", "data_file=base/data", "outer", "1M")
	qemuImg(t, dir, "create", "-q", "-f", "qcow2", "-u", "-b", "none", "-F", "raw", "orphan", "1M")
	if err := os.Symlink("/etc/passwd", at("other/link")); err != nil {
		t.Fatal(err)
	}
	base := []string{at("base")}
	for name, c := range map[string]struct {
		image Image
		want  string // formats of the layers
		err   error
		says  string
	}{
		"alone":                      {image: Image{Path: at("base/raw"), Format: "raw"}, want: "raw"},
		"a chain, nothing allowed":   {image: Image{Path: at("top")}, err: ErrOutside, says: at("top") + " → " + at("base/middle") + ": leads outside"},
		"a chain, its folder":        {image: Image{Path: at("top"), Within: base}, want: "qcow2 qcow2 raw"},
		"a chain, one file of two":   {image: Image{Path: at("top"), Within: []string{at("base/middle")}}, err: ErrOutside, says: at("base/middle") + " → " + at("base/raw")},
		"a chain, both files":        {image: Image{Path: at("top"), Within: []string{at("base/middle"), at("base/raw")}}, want: "qcow2 qcow2 raw"},
		"a chain, written to":        {image: Image{Path: at("top"), Format: "qcow2", Write: true, Within: base}, want: "qcow2 qcow2 raw"},
		"somebody else's file":       {image: Image{Path: at("shadow"), Within: base}, err: ErrOutside, says: at("shadow") + " → /etc/shadow"},
		"a link out of the folder":   {image: Image{Path: at("sly"), Within: []string{at("other"), at("base")}}, err: ErrOutside, says: "that is /etc/passwd"},
		"a server":                   {image: Image{Path: at("remote"), Within: []string{"/"}}, err: ErrOutside, says: "nothing by nbd:"},
		"a description in JSON":      {image: Image{Path: at("json"), Within: []string{"/"}}, err: ErrOutside, says: "nothing by json:"},
		"itself":                     {image: Image{Path: at("self"), Within: []string{dir}}, err: ErrCorrupt, says: at("self") + ": the image is broken: it leads back to itself"},
		"data elsewhere":             {image: Image{Path: at("outer")}, err: ErrOutside, says: at("outer") + " → base/data"},
		"data elsewhere, allowed":    {image: Image{Path: at("outer"), Within: base}, want: "qcow2"},
		"what is not there":          {image: Image{Path: at("orphan"), Within: []string{dir}}, err: os.ErrNotExist, says: at("orphan") + " → " + at("none")},
		"one folder is not there":    {image: Image{Path: at("top"), Within: []string{at("nowhere"), at("base")}}, want: "qcow2 qcow2 raw"},
		"a folder that is not there": {image: Image{Path: at("top"), Within: []string{at("nowhere")}}, err: os.ErrNotExist, says: "find what an image may lead to"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := try(t, c.image)
			if got != c.want || !errors.Is(err, c.err) {
				t.Errorf("%q, %v; want %q, %v", got, err, c.want, c.err)
			}
			var refused *Error
			if err != nil && (!errors.As(err, &refused) || !strings.Contains(err.Error(), c.says)) {
				t.Errorf("%v; want %q", err, c.says)
			}
		})
	}
}

func TestAFormatIsSaidOrLookedForUnderSuspicion(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	at := func(name string) string { return filepath.Join(dir, name) }
	qemuImg(t, dir, "create", "-q", "-f", "qcow2", "qcow2", "1M")
	qemuImg(t, dir, "create", "-q", "-f", "vmdk", "vmdk", "1M")
	put(t, at("raw"), strings.Repeat("x", 4096))
	put(t, at("empty"), "")
	whole, err := os.ReadFile(at("qcow2"))
	if err != nil {
		t.Fatal(err)
	}
	put(t, at("short"), string(whole[:100_000]))
	marked := []byte(string(whole))
	marked[79] |= 2
	put(t, at("marked"), string(marked))
	if err := unix.Mkfifo(at("fifo"), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		image Image
		want  string
		err   error
		says  string
	}{
		"raw, looked for":               {image: Image{Path: at("raw")}, want: "raw"},
		"qcow2, looked for":             {image: Image{Path: at("qcow2")}, want: "qcow2"},
		"qcow2, said to be raw":         {image: Image{Path: at("qcow2"), Format: "raw"}, want: "raw"},
		"raw, said to be qcow2":         {image: Image{Path: at("raw"), Format: "qcow2"}, err: ErrFormat, says: "said to be qcow2"},
		"to write, not said":            {image: Image{Path: at("qcow2"), Write: true}, err: ErrFormat, says: "it looks like qcow2, but"},
		"to write, raw not said either": {image: Image{Path: at("raw"), Write: true}, err: ErrFormat, says: "it looks like raw, but"},
		"to write":                      {image: Image{Path: at("raw"), Format: "raw", Write: true}, want: "raw"},
		"a format of others":            {image: Image{Path: at("vmdk")}, err: ErrFormat, says: "it looks like vmdk; make raw or qcow2"},
		"a format that was named":       {image: Image{Path: at("vmdk"), Format: "vmdk"}, err: ErrFormat, says: "qemu-img convert"},
		"empty":                         {image: Image{Path: at("empty")}, err: ErrCorrupt, says: "the file is empty"},
		"cut off":                       {image: Image{Path: at("short")}, err: ErrCorrupt, says: "cut off"},
		"marked as corrupt":             {image: Image{Path: at("marked")}, err: ErrCorrupt, says: "qemu-img check -r all"},
		"a pipe":                        {image: Image{Path: at("fifo")}, err: ErrFormat, says: "neither a file nor a block device"},
		"a folder":                      {image: Image{Path: dir}, err: ErrFormat, says: "neither a file nor a block device"},
		"missing":                       {image: Image{Path: at("none")}, err: os.ErrNotExist, says: at("none")},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := try(t, c.image)
			if got != c.want || !errors.Is(err, c.err) {
				t.Errorf("%q, %v; want %q, %v", got, err, c.want, c.err)
			}
			if err != nil && !strings.Contains(err.Error(), c.says) {
				t.Errorf("%v; want %q", err, c.says)
			}
		})
	}
}
