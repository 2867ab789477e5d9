package tools

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// TestFresh_RefusesBadInput: each error names the object and the remedy, before anything is made.
func TestFresh_RefusesBadInput(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name string
		args []string
		code int
		say  string
	}{
		{"no arguments", nil, 2, "usage: ./fresh.sh RELEASE TARGET… [NAME=VALUE…]\n"},
		{"no target", []string{"bookworm"}, 2, "usage: ./fresh.sh RELEASE TARGET… [NAME=VALUE…]\n"},
		{"variables without a target", []string{"bookworm", "FUZZTIME=100x"}, 2, "usage: ./fresh.sh RELEASE TARGET… [NAME=VALUE…]\n"},
		{"an unknown release", []string{"../jessie", "run"}, 1, "fresh: unknown release \"../jessie\": taproom runs on bookworm (Debian 12) and trixie (Debian 13)\n"},
		{"an unknown target", []string{"trixie", "run", "walk"}, 1, " has no target \"walk\"\n"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			refused(t, exec.CommandContext(t.Context(), "./fresh.sh", c.args...), c.code, c.say)
		})
	}
}

// TestFreshRoot_RefusesTheMachine: outside of new namespaces the helper would mount on the machine itself.
func TestFreshRoot_RefusesTheMachine(t *testing.T) {
	t.Parallel()
	refused(t, exec.CommandContext(t.Context(), "./fresh-root.sh", t.TempDir()), 2, "usage: ")
	refused(t, exec.CommandContext(t.Context(), "./fresh-root.sh", t.TempDir(), "true"), 1, "tools/fresh.sh runs it in namespaces\n")
}

// refused runs a command, which has to end with the exit code and have said so, and nothing on its standard output.
func refused(t *testing.T, run *exec.Cmd, code int, say string) {
	t.Helper()
	var out, said bytes.Buffer
	run.Stdout, run.Stderr = &out, &said
	err := run.Run()
	var exit *exec.ExitError
	if !errors.As(err, &exit) || exit.ExitCode() != code || !strings.Contains(said.String(), say) || out.Len() > 0 {
		t.Errorf("%q ended with %v, printed %q and said %q; want exit code %d and %q", run.Args, err, &out, &said, code, say)
	}
}

// TestArchive_FindsAnotherSuite: fresh.sh asks for the archive of the security updates, which a machine may not have.
func TestArchive_FindsAnotherSuite(t *testing.T) {
	t.Parallel()
	if os.Geteuid() != 0 {
		t.Skip("it mounts another /etc/apt for itself: run it as root, as make check does")
	}
	apt := t.TempDir()
	sources := "Types: deb\nURIs: http://a/\nSuites: some some-updates\nSigned-By: /a.gpg\n\nTypes: deb\nURIs: http://b/\nSuites: some-security\nSigned-By: /b.gpg\n"
	if err := os.MkdirAll(filepath.Join(apt, "sources.list.d"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(apt, "sources.list.d/debian.sources"), []byte(sources), 0o600); err != nil {
		t.Fatal(err)
	}
	archive := func(suite string) *exec.Cmd {
		run := exec.CommandContext(t.Context(), "sh", "-c", `mount --bind "$1" /etc/apt && exec ./archive.sh "$2"`, "sh", apt, suite)
		run.SysProcAttr = &syscall.SysProcAttr{Unshareflags: syscall.CLONE_NEWNS}
		return run
	}
	got, err := archive("some-security").Output()
	if want := "some-security http://b/ /b.gpg\n"; string(got) != want || err != nil {
		t.Errorf("printed %q, %v; want %q", got, err, want)
	}
	refused(t, archive("other-security"), 1, "none of apt's sources has the suite other-security")
}
