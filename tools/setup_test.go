package tools

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// system is a machine that systemd runs, as setup.sh sees it: its own /usr/sbin and /run, and programs that stand for apt-get,
// dpkg-query and systemctl. The packages' services are started by the distribution's deb-systemd-invoke.
type system struct {
	t                *testing.T
	dir, sbin, state string
}

// standIns are the programs, by name. They keep what they are told in files of $STATE.
func standIns() map[string]string {
	return map[string]string{
		"dpkg-query": `case $1 in
-W) grep -qx "$4" "$STATE/installed" && printf installed ;;
-L) shift; for p; do printf '/.\n/lib/systemd/system\n/lib/systemd/system/%s.service\n' "$p"; done ;;
esac`,
		// A package's postinst enables its service, and asks deb-systemd-invoke to start it.
		"apt-get": `[ "$1" = install ] || exit 0
[ ! -e "$STATE/slow" ] || { echo $$ >"$STATE/installing"; exec sleep 60; }
for p; do case $p in -* | install) ;; *)
	echo "$p.service" >>"$STATE/enabled"
	grep -qx user.timer "$STATE/enabled" || echo user.timer >>"$STATE/enabled" # of somebody else, meanwhile
	deb-systemd-invoke start "$p.service"
	[ ! -e "$STATE/broken" ] || { echo "E: broken packages"; exit 100; }
	echo "$p" >>"$STATE/installed" ;; esac; done`,
		"systemctl": `case "$*" in
list-unit-files*) sed 's/$/ enabled enabled/' "$STATE/enabled" ;;
*is-enabled*) echo enabled ;;
*is-active*) exit 3 ;;
disable*) shift; for u; do sed -i "/^$u\$/d" "$STATE/enabled"; done ;;
*start*) echo "$*" >>"$STATE/started" ;;
esac`,
	}
}

func newSystem(t *testing.T) *system {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("it mounts another /usr/sbin for itself: run it as root, as make check does")
	}
	dir := t.TempDir()
	s := &system{t, dir, filepath.Join(dir, "sbin"), filepath.Join(dir, "state")}
	for _, d := range []string{"sbin", "state", "bin", "tools", "run/systemd/system"} {
		if err := os.MkdirAll(filepath.Join(dir, d), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	script, err := os.ReadFile("setup.sh")
	if err != nil {
		t.Fatal(err)
	}
	s.write("tools/setup.sh", string(script))
	for name, text := range standIns() {
		s.write("bin/"+name, "#!/bin/sh\nset -eu\n"+text+"\n")
	}
	s.write("state/installed", "ca-certificates\n")
	s.write("state/enabled", "cron.service\n")
	return s
}

func (s *system) write(name, text string) {
	s.t.Helper()
	writeProgram(s.t, filepath.Join(s.dir, name), text)
}

// read returns what a file has, "" without one.
func (s *system) read(name string) string {
	s.t.Helper()
	text, err := os.ReadFile(filepath.Join(s.dir, name))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		s.t.Fatal(err)
	}
	return string(text)
}

// setup is a run of `setup.sh build`, which wants git and ca-certificates.
func (s *system) setup() (*exec.Cmd, *bytes.Buffer) {
	c := exec.CommandContext(s.t.Context(), "sh", "-c",
		`mount --bind "$1/sbin" /usr/sbin && mount --bind "$1/run" /run && PATH="$1/bin:$PATH" exec "$1/tools/setup.sh" build`, "sh", s.dir)
	c.Env = append(os.Environ(), "STATE="+s.state)
	c.SysProcAttr = &syscall.SysProcAttr{Unshareflags: syscall.CLONE_NEWNS, Setpgid: true} // nobody else sees the mounts
	var said bytes.Buffer
	c.Stdout, c.Stderr = &said, &said
	return c, &said
}

// holds checks that no service was started, that those of before are enabled and no others, and what is in /usr/sbin.
func (s *system) holds(policy string) {
	s.t.Helper()
	if got := s.read("state/started"); got != "" {
		s.t.Errorf("services were started: %s", got)
	}
	if got := s.read("state/enabled"); strings.ReplaceAll(got, "user.timer\n", "") != "cron.service\n" {
		s.t.Errorf("enabled are\n%swant cron.service and what somebody else enabled", got)
	}
	if got := s.read("sbin/policy-rc.d"); got != policy {
		s.t.Errorf("policy-rc.d is %q, want %q", got, policy)
	}
	names, err := os.ReadDir(s.sbin)
	if err != nil || len(names) > 1 {
		s.t.Errorf("left in /usr/sbin: %v, %v", names, err)
	}
}

// TestSetup_StartsNoService: firewalld and NetworkManager would change the network of who runs make test.
func TestSetup_StartsNoService(t *testing.T) {
	t.Parallel()
	for name, policy := range map[string]string{
		"without a policy":                  "",
		"with a policy that starts all":     "#!/bin/sh\nexit 0\n",
		"with a policy that starts nothing": "#!/bin/sh\nexit 101\n",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newSystem(t)
			if policy != "" {
				s.write("sbin/policy-rc.d", policy)
			}
			for range 2 { // the second run changes nothing
				c, said := s.setup()
				if err := c.Run(); err != nil {
					t.Fatalf("%v: %s%s", err, said, s.read("build/setup.log"))
				}
				if got, want := said.String(), "setup: neither started nor enabled: git.service \n"; strings.Contains(got, "installing") != strings.Contains(got, want) {
					t.Errorf("it said %q, want %q when it installs", got, want)
				}
				s.holds(policy)
			}
			if got := s.read("state/enabled"); !strings.Contains(got, "user.timer") {
				t.Errorf("a timer of somebody else is no longer enabled:\n%s", got)
			}
			if got := s.read("state/installed"); got != "ca-certificates\ngit\n" {
				t.Errorf("installed are %q", got)
			}
		})
	}
}

// TestSetup_PutsThePolicyBackAfterAFailure: of an installation that fails, too, no service is left enabled.
func TestSetup_PutsThePolicyBackAfterAFailure(t *testing.T) {
	t.Parallel()
	s := newSystem(t)
	const policy = "#!/bin/sh\nexit 0\n"
	s.write("sbin/policy-rc.d", policy)
	s.write("state/broken", "")
	c, said := s.setup()
	if err := c.Run(); err == nil || !strings.Contains(said.String(), "E: broken packages\nsetup: apt-get could not install git; ") {
		t.Errorf("%v: %s", err, said)
	}
	s.holds(policy)
}

// TestSetup_PutsThePolicyBackAfterItWasKilled: one that is interrupted does, and after one that was killed the next does, which
// installs nothing.
func TestSetup_PutsThePolicyBackAfterItWasKilled(t *testing.T) {
	t.Parallel()
	for _, sig := range []syscall.Signal{syscall.SIGINT, syscall.SIGTERM, syscall.SIGKILL} {
		t.Run(sig.String(), func(t *testing.T) {
			t.Parallel()
			s := newSystem(t)
			const policy = "#!/bin/sh\nexit 0\n"
			s.write("sbin/policy-rc.d", policy)
			s.write("state/slow", "")
			c, said := s.setup()
			if err := c.Start(); err != nil {
				t.Fatal(err)
			}
			for late := time.Now().Add(time.Minute); s.read("state/installing") == ""; <-time.After(10 * time.Millisecond) {
				if time.Now().After(late) {
					t.Fatalf("it does not install: %s", said)
				}
			}
			if got := s.read("sbin/policy-rc.d"); got == policy || !strings.HasSuffix(got, "\nexit 101\n") {
				t.Errorf("while it installs, policy-rc.d is %q", got)
			}
			err := syscall.Kill(-c.Process.Pid, sig) // a terminal signals all of them
			_ = c.Wait()                             // it was killed
			if err != nil {
				t.Fatal(err)
			}
			if sig == syscall.SIGKILL {
				s.write("state/installed", "ca-certificates\ngit\n")
				c, said = s.setup()
				if err := c.Run(); err != nil {
					t.Fatalf("%v: %s", err, said)
				}
			}
			s.holds(policy)
		})
	}
}
