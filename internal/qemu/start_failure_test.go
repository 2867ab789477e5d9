package qemu

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"taproom/internal/host"
	"taproom/internal/host/hosttest"
	"taproom/internal/qemu/emutest"
)

func TestStartNamesWhatWentWrongAndLeavesNothing(t *testing.T) {
	t.Parallel()
	e := emulators(t)[0]
	script := func(t *testing.T, mode fs.FileMode, text string) string {
		dir := filepath.Dir(ownedFile(t, "x"))
		path := filepath.Join(dir, "qemu")
		if err := errors.Join(hosttest.WriteProgram(path, []byte("#!/bin/sh\n"+text)), os.Chmod(path, mode)); err != nil {
			t.Fatal(err)
		}
		return path
	}
	cases := []struct {
		name  string
		want  error
		also  error
		says  string
		spoil func(t *testing.T, s *StartSpec)
	}{
		{"binary missing", ErrBinary, fs.ErrNotExist, "no such file", func(t *testing.T, s *StartSpec) { s.Config.Binary = "/usr/bin/qemu-system-none" }},
		{"binary not executable", ErrBinary, fs.ErrPermission, "chmod +x", func(t *testing.T, s *StartSpec) { s.Config.Binary = script(t, 0o644, "") }},
		{"binary of another format", ErrBinary, unix.ENOEXEC, "exec format error", func(t *testing.T, s *StartSpec) {
			s.Config.Binary = script(t, 0o755, "")
			if err := hosttest.WriteProgram(s.Config.Binary, []byte("not a program")); err != nil {
				t.Fatal(err)
			}
		}},
		{"dies at once", ErrDied, nil, ": exit status 3; it said: cannot go on", func(t *testing.T, s *StartSpec) {
			s.Config.Binary = script(t, 0o755, "echo cannot go on >&2; exit 3")
		}},
		{"QEMU refuses its options", ErrDied, nil, "nonsense", func(t *testing.T, s *StartSpec) {
			s.Config.Devices = []Props{{{"driver", "nonsense"}}}
		}},
		{"hangs before QMP", ErrSilent, context.DeadlineExceeded, "did not answer the connection with a greeting in time", func(t *testing.T, s *StartSpec) {
			s.Config.Binary = script(t, 0o755, "read x <&3; kill -STOP $$")
		}},
		{"root", ErrRoot, nil, "root", func(t *testing.T, s *StartSpec) { s.UID = 0 }},
		{"root's group", ErrRoot, nil, "root", func(t *testing.T, s *StartSpec) { s.GID = 0 }},
		{"file of the ruleset missing", ErrConfine, fs.ErrNotExist, "/nonexistent", func(t *testing.T, s *StartSpec) {
			s.Config.ReadOnly = []string{"/nonexistent"}
		}},
		{"limit above the hard one", ErrConfine, fs.ErrPermission, "resource limit", func(t *testing.T, s *StartSpec) {
			s.Limits = append(s.Limits, limit(unix.RLIMIT_NOFILE, 1<<40))
		}},
	}
	for _, tc := range cases {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			s := spec(t, e.minimal())
			tc.spoil(t, &s)
			timeout := emutest.Patience()
			if errors.Is(tc.want, ErrSilent) {
				timeout /= 6 // enough for an emulated machine to come that far
			}
			ctx, cancel := context.WithTimeout(t.Context(), timeout)
			defer cancel()
			p, err := Start(ctx, kernel(), s)
			if p != nil {
				defer end(t, p)
			}
			if !errors.Is(err, tc.want) || tc.also != nil && !errors.Is(err, tc.also) || !errors.As(err, new(*StartError)) {
				t.Fatalf("got %v, want %v and %v in a StartError", err, tc.want, tc.also)
			}
			if !strings.Contains(err.Error(), tc.says) || strings.Contains(err.Error(), "\n") {
				t.Errorf("got %q, want one line that says %q", err, tc.says)
			}
			for _, path := range []string{s.QMPPath, s.PIDFile} {
				if _, err := os.Lstat(path); !errors.Is(err, fs.ErrNotExist) {
					t.Errorf("%s is left: %v", path, err)
				}
			}
		})
	}
}

func TestFileThatNobodyOpenedIsAnErrorBeforeAnyProcess(t *testing.T) {
	t.Parallel()
	c := emulators(t)[0].minimal()
	c.Chardevs = []Chardev{ListenChardev("agent", "agent socket")}
	var steps []string
	k := host.New(host.Options{Hook: func(call string) { steps = append(steps, call) }})
	_, err := Start(t.Context(), k, spec(t, c))
	if err == nil || !strings.Contains(err.Error(), `"agent socket"`) {
		t.Errorf("got %v, want an error that names the file", err)
	}
	for _, s := range steps {
		if strings.HasPrefix(s, "process start") {
			t.Errorf("a process was started: %q", steps)
		}
	}
}
