package disk_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"taproom/disk"
	"taproom/disk/disktest"
	"taproom/internal/appliance/launchtest"
)

// writing is a taproom disk command that has taken a part of its input, and waits for more that does not come.
type writing struct {
	t      *testing.T
	c      *exec.Cmd
	in     io.WriteCloser
	stderr bytes.Buffer
}

// begin starts a command and feeds it more than pipes and the appliance hold, so that a part is being written when it returns.
func begin(t *testing.T, dir string, feed []byte, args ...string) *writing {
	t.Helper()
	w := &writing{t: t, c: exec.Command(launchtest.Program(t, "taproom"), append([]string{"disk"}, args...)...)}
	w.c.Dir, w.c.Stderr = dir, &w.stderr
	in, err := w.c.StdinPipe()
	if err == nil {
		w.in = in
		err = w.c.Start()
	}
	if err == nil {
		_, err = w.in.Write(feed)
	}
	if err != nil {
		t.Fatalf("%v: %v: %s", args, err, w.stderr.String())
	}
	return w
}

// end sends a signal, and waits without closing the input.
func (w *writing) end(s syscall.Signal) error {
	if err := w.c.Process.Signal(s); err != nil {
		w.t.Error(err)
	}
	err := w.c.Wait()
	_ = w.in.Close()
	return err
}

// writers are commands that read without an end, with their input.
func writers() map[string]struct {
	args []string
	feed []byte
} {
	type writer = struct {
		args []string
		feed []byte
	}
	large := bytes.Repeat([]byte("much text\n"), 600_000)
	return map[string]writer{
		"put":   {[]string{"put", "--format", "raw", "image", "-", "/large"}, large},
		"run":   {[]string{"run", "--write", "--stdin", "--format", "raw", "image", "sh", "-c", "cat >/large"}, large},
		"shell": {[]string{"shell", "--write", "--inside", "--format", "raw", "image"}, append([]byte("cat >/large\n"), large...)},
	}
}

// atomic has a command change a private copy.
func atomic(args []string) []string {
	return append([]string{args[0], "--atomic"}, args[1:]...)
}

func TestInterrupt_LeavesAnImageOfAtomicAsItWas(t *testing.T) {
	t.Parallel()
	image := disktest.Make(t, withPrograms+"rm -r t")
	dir, before := filepath.Dir(image), sum(t, image)
	for name, c := range writers() {
		for _, s := range []syscall.Signal{syscall.SIGINT, syscall.SIGKILL} {
			w := begin(t, dir, c.feed, atomic(c.args)...)
			err := w.end(s)
			var exit *exec.ExitError
			if !errors.As(err, &exit) || s == syscall.SIGINT && (exit.ExitCode() != 1 || !strings.Contains(w.stderr.String(), "image image: interrupted")) {
				t.Errorf("%s, %v: %v: %s", name, s, err, w.stderr.String())
			}
			if sum(t, image) != before {
				t.Errorf("%s, %v: the image was changed", name, s)
			}
			if list, err := os.ReadDir(dir); err != nil || len(list) != 1 {
				t.Errorf("%s, %v: beside the image there is %v (%v)", name, s, list, err)
			}
		}
	}
}

// Without --atomic the image has a part of what was written, and its file system is one that a journal's replay makes whole.
func TestKill_LeavesAFileSystemThatItsJournalMakesWhole(t *testing.T) {
	t.Parallel()
	image := disktest.Make(t, withPrograms+"rm -r t")
	c := writers()["put"]
	w := begin(t, filepath.Dir(image), c.feed, c.args...)
	if err := w.end(syscall.SIGKILL); err == nil {
		t.Error("a killed command has ended well")
	}
	_ = exec.Command("e2fsck", "-p", image).Run() // replays the journal
	if out, err := exec.Command("e2fsck", "-fn", image).CombinedOutput(); err != nil {
		t.Errorf("%v: %s", err, out)
	}
}

// A copy that does not fit on the host's disk is an error that says so, and the image stays.
func TestFullHost_LeavesTheImageAsItWas(t *testing.T) {
	t.Parallel()
	image := disktest.Make(t, "mkdir t; head -c 12M /dev/urandom >t/large; image 24M; mkfs.ext4 -q -d t $I; rm -r t; printf x >small; mkdir full")
	c := exec.Command("unshare", "-m", "--propagation", "private", "sh", "-euc", `mount -t tmpfs -o size=20M none full; cp --sparse=always image full/image
code=0; "$0" disk put --format raw --atomic full/image small /small || code=$?
cmp image full/image; [ "$(ls full)" = image ]; exit $code`, launchtest.Program(t, "taproom"))
	c.Dir = filepath.Dir(image)
	out, err := c.CombinedOutput()
	var exit *exec.ExitError
	if !errors.As(err, &exit) || exit.ExitCode() != 1 || !strings.Contains(string(out), "make a private copy of") || !strings.Contains(string(out), "no space left on device") {
		t.Errorf("%v: %s", err, out)
	}
}

// An image that somebody cuts off while its copy is changed is not replaced by the copy.
func TestShrunkImage_IsNotReplaced(t *testing.T) {
	t.Parallel()
	image := disktest.Make(t, "image 24M; mkfs.ext4 -q $I")
	a := opened(t, image, disk.Atomic)
	if err := errors.Join(a.CopyIn(t.Context(), "/new", strings.NewReader("new"), 0o600), os.Truncate(image, 1<<20)); err != nil {
		t.Fatal(err)
	}
	after := sum(t, image)
	if err := a.Commit(context.WithoutCancel(t.Context())); err == nil || !strings.Contains(err.Error(), "the image was changed by somebody else") {
		t.Errorf("%v", err)
	}
	if sum(t, image) != after {
		t.Error("the image was replaced")
	}
}
