package daemontest

import (
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"taproom/internal/engine"
)

// envSession has a test binary be the daemon of the user that it was started as, with that user's directories.
const envSession = "TAPROOM_TEST_SESSION"

// User is somebody without root, and without an entry in the password file.
type User struct {
	ID  uint32
	Env []string // what a login sets: HOME and the directories of XDG
}

// NewUser makes one that nobody else is, with a home below root.
func NewUser(t testing.TB, root string) *User {
	t.Helper()
	u := &User{ID: 1_600_000_000 + rand.Uint32N(200_000_000)}
	home, run := filepath.Join(root, "home"), filepath.Join(root, "run")
	for _, dir := range []string{home, run} {
		if err := os.Mkdir(dir, 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.Chown(dir, int(u.ID), int(u.ID)); err != nil {
			t.Fatal(err)
		}
	}
	u.Env = []string{"HOME=" + home, "XDG_RUNTIME_DIR=" + run}
	return u
}

// Home is the user's home.
func (u *User) Home() string { return u.getenv("HOME") }

func (u *User) getenv(name string) string {
	for _, kv := range slices.Backward(u.Env) { // the last one counts
		if value, ok := strings.CutPrefix(kv, name+"="); ok {
			return value
		}
	}
	return ""
}

// Be makes a command one of the user's.
func (u *User) Be(c *exec.Cmd) {
	if c.SysProcAttr == nil {
		c.SysProcAttr = &syscall.SysProcAttr{}
	}
	c.SysProcAttr.Credential = &syscall.Credential{Uid: u.ID, Gid: u.ID}
	if c.Env == nil {
		c.Env = os.Environ()
	}
	c.Env = slices.DeleteFunc(c.Env, func(kv string) bool { return strings.HasPrefix(kv, "XDG_") })
	c.Env = append(c.Env, u.Env...)
}

// Processes are those of the user that have not ended.
func (u *User) Processes() (pids []int) {
	entries, _ := os.ReadDir("/proc")
	for _, e := range entries {
		var pid int
		var st unix.Stat_t
		if n, _ := fmt.Sscan(e.Name(), &pid); n == 0 || unix.Stat("/proc/"+e.Name()+"/task", &st) != nil || st.Uid != u.ID {
			continue
		}
		if exe, err := os.ReadFile("/proc/" + e.Name() + "/cmdline"); err == nil && len(exe) > 0 { // a zombie has none
			pids = append(pids, pid)
		}
	}
	return pids
}

// PrepareSession is Prepare for the daemon of a user without root.
func PrepareSession(t testing.TB) *Daemon {
	t.Helper()
	d := Prepare(t)
	d.user = NewUser(t, d.Root)
	// Where the clone lies, the user need not be able to go.
	for _, name := range []string{"taproom-launch", "taproomd", "taproom"} {
		if err := copyProgram(filepath.Join(programs(), name), filepath.Join(d.Root, "bin", name)); err != nil {
			t.Fatal(err)
		}
	}
	return d
}

func copyProgram(from, to string) error {
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer in.Close()
	if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
		return err
	}
	out, err := os.OpenFile(to, os.O_CREATE|os.O_WRONLY, 0o755)
	if err != nil {
		return err
	}
	_, err = io.Copy(out, in)
	if cerr := out.Close(); err == nil {
		err = cerr
	}
	return err
}

// User is whose daemon it is; nil for root's.
func (d *Daemon) User() *User { return d.user }

// paths are where the daemon of a user keeps things.
func (u *User) paths() engine.Paths {
	b, _ := os.ReadFile("/proc/sys/kernel/random/boot_id")
	p, _ := engine.UserPaths(u.getenv, "/", strings.TrimSpace(string(b)))
	return p
}
