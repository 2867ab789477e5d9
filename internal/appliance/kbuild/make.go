package kbuild

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"taproom/internal/appliance/debian"
)

// tree is a kernel's source and where it is built.
type tree struct {
	source, objects string
	jobs            int
	arch            string
}

// configure writes the configuration and checks that the source takes it.
func (t tree) configure(ctx context.Context, c Config) error {
	if err := os.MkdirAll(t.objects, 0o755); err != nil {
		return err
	}
	if err := t.make(ctx, nil, "tinyconfig"); err != nil {
		return err
	}
	path := filepath.Join(t.objects, ".config")
	tiny, err := os.ReadFile(path)
	if err != nil {
		return fmt.Errorf("make tinyconfig wrote no configuration: %w", err)
	}
	if err := os.WriteFile(path, append(tiny, c.Fragment...), 0o644); err != nil {
		return err
	}
	if err := t.make(ctx, nil, "olddefconfig"); err != nil {
		return err
	}
	finished, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	return c.check(finished)
}

// compile builds the kernel and returns where it is, without symbols. Each line that make prints is told.
func (t tree) compile(ctx context.Context, line func()) (string, error) {
	if err := t.make(ctx, line, fmt.Sprintf("-j%d", t.jobs), "vmlinux"); err != nil {
		return "", err
	}
	stripped := filepath.Join(t.objects, "vmlinux.stripped")
	_, err := debian.Run(ctx, t.objects, "strip", "--strip-all", "-o", stripped, "vmlinux")
	return stripped, err
}

// make runs the kernel's make. When ctx ends everything that it started is killed; when this process is, make's next line
// finds nobody who reads it, and make ends.
func (t tree) make(ctx context.Context, line func(), targets ...string) error {
	c := exec.CommandContext(ctx, "make", append([]string{"--no-print-directory", "-C", t.source, "O=" + t.objects, "ARCH=" + t.arch}, targets...)...)
	c.Env = environment()
	c.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	c.Cancel = func() error { return unix.Kill(-c.Process.Pid, unix.SIGKILL) }
	c.WaitDelay = 10 * time.Second
	complaints := &tail{most: 4000}
	c.Stderr = complaints
	out, err := c.StdoutPipe()
	if err != nil {
		return err
	}
	if err := c.Start(); err != nil {
		return err
	}
	lines := bufio.NewScanner(out)
	for lines.Scan() {
		if line != nil {
			line()
		}
	}
	_, _ = io.Copy(io.Discard, out) // after a line that is too long
	err = c.Wait()
	switch {
	case err == nil:
		return nil
	case ctx.Err() != nil:
		return fmt.Errorf("make %s: %w", strings.Join(targets, " "), ctx.Err())
	case strings.Contains(complaints.String(), unix.ENOSPC.Error()), strings.Contains(complaints.String(), "No space left on device"):
		return noRoom(t.objects, err)
	}
	return fmt.Errorf("make %s: %w; it ends with:\n%s", strings.Join(targets, " "), err, complaints)
}

// environment is make's: of the caller's only what finds programs, and everything fixed that a kernel keeps of it.
func environment() []string {
	env := []string{
		"KBUILD_BUILD_TIMESTAMP=1970-01-01 00:00:00 UTC", "KBUILD_BUILD_USER=taproom", "KBUILD_BUILD_HOST=taproom", "KBUILD_BUILD_VERSION=1",
		"LC_ALL=C", "TZ=UTC",
	}
	for _, name := range []string{"PATH", "HOME", "TMPDIR"} {
		if value, ok := os.LookupEnv(name); ok {
			env = append(env, name+"="+value)
		}
	}
	return env
}

// wanted is the room that source and objects take.
const wanted = 3 << 30

// checkRoom says in advance that a build will not fit.
func checkRoom(dir string) error {
	var s unix.Statfs_t
	if err := unix.Statfs(dir, &s); err != nil {
		return fmt.Errorf("look how much room there is in %s: %w", dir, err)
	}
	if free := s.Bavail * uint64(s.Bsize); free < wanted {
		return fmt.Errorf("%w: a kernel's build takes %d MiB for a while, and there are %d in %s; make room there",
			unix.ENOSPC, wanted>>20, free>>20, dir)
	}
	return nil
}

func noRoom(dir string, err error) error {
	return fmt.Errorf("%w while building a kernel in %s (%w); make room there", unix.ENOSPC, dir, err)
}

// tail keeps the end of what is written.
type tail struct {
	b    []byte
	most int
}

// Write implements io.Writer.
func (t *tail) Write(b []byte) (int, error) {
	t.b = append(t.b, b...)
	t.b = t.b[max(0, len(t.b)-t.most):]
	return len(b), nil
}

func (t *tail) String() string { return strings.TrimSpace(string(t.b)) }
