package tools

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// unpack runs unpack.sh where /etc/apt holds the files and apt-get only notes which sources it is given. It returns those,
// and what was said.
func unpack(t *testing.T, files map[string]string) (sources, said string) {
	t.Helper()
	apt, bin, dest := t.TempDir(), t.TempDir(), t.TempDir()
	for name, text := range files {
		path := filepath.Join(apt, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	script := "#!/bin/sh\ncp '" + dest + "/.apt/sources.list' '" + dest + "/given'\n"
	writeProgram(t, filepath.Join(bin, "apt-get"), script)
	run := exec.CommandContext(t.Context(), "sh", "-c", `mount --bind "$1" /etc/apt && PATH="$2:$PATH" exec ./unpack.sh stable "$3" package`,
		"sh", apt, bin, dest)
	run.SysProcAttr = &syscall.SysProcAttr{Unshareflags: syscall.CLONE_NEWNS} // nobody else sees the mount
	var out bytes.Buffer
	run.Stdout, run.Stderr = &out, &out
	err := run.Run()
	given, rerr := os.ReadFile(filepath.Join(dest, "given"))
	if (err == nil) != (rerr == nil) {
		t.Fatalf("ended with %v and gave apt-get %q, %v:\n%s", err, given, rerr, &out)
	}
	return string(given), out.String()
}

func codename(t *testing.T) string {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), "sh", "-c", ". /etc/os-release; echo $VERSION_CODENAME").Output()
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(string(out))
}

func TestTheArchiveAndItsKeyAreThoseOfTheMachine(t *testing.T) {
	t.Parallel()
	if os.Geteuid() != 0 {
		t.Skip("it mounts another /etc/apt for itself: run it as root, as make check does")
	}
	suite := codename(t)
	const foreign = "Types: deb\nURIs: http://foreign/\nSuites: any\nSigned-By: /foreign.gpg\n"
	const usual = "/usr/share/keyrings/debian-archive-keyring.gpg"
	for _, c := range []struct {
		name              string
		files             map[string]string
		archive, key, say string
	}{
		{"Debian 12's", map[string]string{
			"sources.list.d/debian.sources": "Types: deb\nURIs: http://a/\nSuites: SUITE SUITE-updates\nSigned-By: /a.gpg\n\n" + foreign,
		}, "http://a/", "/a.gpg", ""},
		{"an order of their own", map[string]string{
			"sources.list.d/a.sources": foreign,
			"sources.list.d/b.sources": foreign + "\nSigned-By: /b.gpg\nSuites: SUITE-updates SUITE\nURIs: http://b/\nTypes: deb\n",
		}, "http://b/", "/b.gpg", ""},
		{"the older list beside another's key", map[string]string{
			"sources.list.d/a.sources": foreign, "sources.list": "deb [arch=amd64 lang=en] http://c/ SUITE main\n",
		}, "http://c/", usual, ""},
		{"a list that is not called sources.list", map[string]string{
			"sources.list.d/z.list": "# none\ndeb http://d/ SUITE main\n",
		}, "http://d/", usual, ""},
		{"nothing of this release", map[string]string{
			"sources.list.d/a.sources": foreign,
		}, "", "", "none of apt's sources has the suite"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			for name, text := range c.files {
				c.files[name] = strings.ReplaceAll(text, "SUITE", suite)
			}
			got, said := unpack(t, c.files)
			want := ""
			if c.say == "" {
				for _, s := range []string{suite, suite + "-updates"} {
					want += "deb [signed-by=" + c.key + "] " + c.archive + " " + s + " main\n"
				}
			}
			if got != want || !strings.Contains(said, c.say) {
				t.Errorf("apt-get was given\n%swant\n%sand it was said: %s", got, want, said)
			}
		})
	}
}
