package bench

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"

	"taproom/internal/host/hosttest"
)

func TestWithoutAPeerItsFiguresAreSkippedWithTheRemedy(t *testing.T) {
	t.Parallel()
	empty := t.TempDir()
	for dir, why := range map[string]string{
		"":    "no peers were given: `make bench-peers` fetches them and names their folder with --peers",
		empty: "no libvirtd below " + empty + ": stat " + empty + "/usr/sbin/libvirtd: no such file or directory",
	} {
		p, skip := startLibvirt(t.Context(), dir)
		if d := cmp.Diff([]Skip{{"peer.libvirt", why}}, skip); p != nil || d != "" {
			t.Errorf("folder %q: %v, skipped (-want +got):\n%s", dir, p, d)
		}
	}
}

// fakePeer is a folder whose libvirtd is a script.
func fakePeer(t *testing.T, script string) string {
	t.Helper()
	dir := t.TempDir()
	for _, d := range []string{"usr/sbin", "usr/share"} {
		if err := os.MkdirAll(filepath.Join(dir, d), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if err := hosttest.WriteProgram(filepath.Join(dir, "usr/sbin/libvirtd"), []byte("#!/bin/sh\n"+script)); err != nil {
		t.Fatal(err)
	}
	return dir
}

func TestALibvirtdThatNeverAnswersIsGivenUpAndEnded(t *testing.T) {
	t.Parallel()
	pidFile := filepath.Join(t.TempDir(), "pid")
	dir := fakePeer(t, "echo cannot think >&2; echo $$ >"+pidFile+".new; mv "+pidFile+".new "+pidFile+"; exec sleep 1000\n")
	ctx, cancel := context.WithTimeout(t.Context(), 500*time.Millisecond)
	defer cancel()
	p, skip := startLibvirt(ctx, dir)
	if p != nil || len(skip) != 1 || !strings.Contains(skip[0].Why, "did not answer") || !strings.Contains(skip[0].Why, "cannot think") {
		t.Fatalf("%v, skipped %q; want that it did not answer, and what it said", p, skip)
	}
	b, err := os.ReadFile(pidFile)
	if errors.Is(err, os.ErrNotExist) {
		return // it was ended before it wrote its number
	}
	pid, aerr := strconv.Atoi(strings.TrimSpace(string(b)))
	if err != nil || aerr != nil {
		t.Fatal(err, aerr)
	}
	if err := unix.Kill(pid, 0); !errors.Is(err, unix.ESRCH) {
		t.Errorf("process %d still runs: %v", pid, err)
	}
}

func TestThePlaceOfAPeerWritesNothingToTheMachine(t *testing.T) {
	t.Parallel()
	seen := filepath.Join(t.TempDir(), "seen")
	dir := fakePeer(t, "cat /etc/libvirt/qemu.conf >"+seen+"; touch /run/libvirt/here /var/lib/here /etc/here; exec sleep 1000\n")
	ctx, cancel := context.WithTimeout(t.Context(), 500*time.Millisecond)
	defer cancel()
	if p, _ := startLibvirt(ctx, dir); p != nil {
		t.Fatal("a script that sleeps answered")
	}
	for _, path := range []string{"/run/libvirt/here", "/var/lib/here", "/etc/here"} {
		if _, err := os.Lstat(path); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("%s is on the machine: %v", path, err)
		}
	}
	if b, err := os.ReadFile(seen); err == nil && !strings.Contains(string(b), "security_driver") {
		t.Errorf("libvirtd read %q as its configuration", b)
	}
}
