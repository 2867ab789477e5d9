package clienttest

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"
)

// outside is what others do in the folder of the story's pool: an image, a folder, a link, a link to nowhere, a pipe, a CD, and
// what a crash left.
func (c *clients) outside() {
	c.t.Helper()
	dir := filepath.Join(c.work, "images")
	cd := make([]byte, 40<<10)
	copy(cd[32769:], "CD001")
	for name, content := range map[string]string{"put.raw": "put there", "cd.iso": string(cd), ".taproom-tmp-half.XYZ": "half"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o644); err != nil {
			c.t.Fatal(err)
		}
	}
	for _, err := range []error{
		os.Mkdir(filepath.Join(dir, "folder"), 0o755), os.Symlink("put.raw", filepath.Join(dir, "link.raw")),
		os.Symlink("nowhere", filepath.Join(dir, "dangling")), unix.Mkfifo(filepath.Join(dir, "pipe"), 0o600),
	} {
		if err != nil {
			c.t.Fatal(err)
		}
	}
}

// takes is how much storage a file has, in bytes.
func (c *clients) takes(name string) int64 {
	c.t.Helper()
	var st unix.Stat_t
	if err := unix.Stat(filepath.Join(c.work, name), &st); err != nil {
		c.t.Fatal(err)
	}
	return st.Blocks * 512
}

// What was uploaded comes down again, whole and in pieces, also when it is larger than what fits into a message.
func TestVolumesGoUpAndDown(t *testing.T) {
	t.Parallel()
	c := serve(t)
	c.write("pool.xml", c.fill("<pool type='dir'><name>p</name><target><path>ROOT/work/p</path></target></pool>"))
	c.do("pool-create", "pool.xml", "--build")
	content := make([]byte, 5<<20+3)
	for i := range content {
		content[i] = byte(i * 7 >> 3)
	}
	c.write("up", string(content))
	c.do("vol-create-as", "p", "v", "1M")
	c.do("vol-create-as", "p", "sparse", "1M", "--allocation", "0")
	if full, sparse := c.takes("p/v"), c.takes("p/sparse"); full < 1<<20 || sparse != 0 {
		t.Errorf("a volume takes %d bytes, a sparse one %d; want all of 1 MiB and nothing", full, sparse)
	}
	c.do("vol-upload", "v", "up", "p")
	c.do("vol-download", "v", "down", "p")
	c.do("vol-download", "v", "piece", "p", "--offset", "4000000", "--length", "1000001")
	for name, want := range map[string][]byte{"down": content, "piece": content[4000000:5000001]} {
		if got, err := os.ReadFile(filepath.Join(c.work, name)); err != nil || string(got) != string(want) {
			t.Errorf("%s: %d bytes, %v; want the %d that were sent", name, len(got), err, len(want))
		}
	}
	c.do("vol-clone", "v", "w", "p")
	c.do("vol-wipe", "v", "p")
	for name, want := range map[string][]byte{"v": make([]byte, len(content)), "w": content} {
		if got, err := os.ReadFile(filepath.Join(c.work, "p", name)); err != nil || string(got) != string(want) {
			t.Errorf("%s: %d bytes, %v, or not what it should hold", name, len(got), err)
		}
	}
	// What a crash left half made goes with the next daemon.
	half := c.write("p/.taproom-tmp-half.XYZ", "half")
	c.restart("kill")
	if _, err := os.Lstat(half); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("%s is still there: %v", half, err)
	}
	c.do("pool-destroy", "p")
	if left := c.daemon.Leftovers(); left != nil {
		t.Errorf("left: %v", left)
	}
}
