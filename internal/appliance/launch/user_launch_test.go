package launch

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"taproom/internal/appliance/launchtest"
	"taproom/internal/appliance/proto"
	"taproom/internal/host/hosttest"
)

// nobodysUser is one that nobody else's process has.
const nobodysUser = 61_238

// asUser plays a caller without any rights: it launches an appliance with a disk and writes what came of it.
func asUser() {
	var c crash
	err := json.Unmarshal([]byte(os.Getenv(crashEnv)), &c)
	if err == nil {
		err = listDisk(context.Background(), c)
	}
	if err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
}

// listDisk prints the names in an image's root folder.
func listDisk(ctx context.Context, c crash) (err error) {
	s := Spec{Files: c.Files, Launcher: c.Launcher, CacheDir: c.Cache, Way: WayCold, Accelerator: "tcg"}
	a, err := Launch(ctx, s)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, a.Shutdown(ctx)) }()
	d, err := a.Attach(ctx, Disk{Path: c.Image, Format: "raw", Access: Write})
	if err != nil {
		return err
	}
	if _, err := a.Agent().Mount(ctx, proto.Mount{Device: d.Name, At: "/"}); err != nil {
		return err
	}
	list, err := a.Agent().List(ctx, "/")
	for _, e := range list {
		fmt.Println(e.Name)
	}
	return err
}

// copied puts a program where every user can run it.
func copied(t *testing.T, dir, from string) string {
	t.Helper()
	b, err := os.ReadFile(from)
	if err != nil {
		t.Fatal(err)
	}
	to := filepath.Join(dir, filepath.Base(from))
	if err := hosttest.WriteProgram(to, b); err != nil {
		t.Fatal(err)
	}
	return to
}

func TestAUserLaunchesWithoutRoot(t *testing.T) {
	t.Parallel()
	if os.Geteuid() != 0 {
		t.Skip("run as root, as `make test` does in a container: all other tests of this package are this one otherwise")
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	for d := dir; d != filepath.Clean(os.TempDir()) && d != "/"; d = filepath.Dir(d) {
		if err := os.Chmod(d, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	image := ext4(t)
	own := filepath.Join(dir, "own")
	if err := os.Mkdir(own, 0o700); err != nil {
		t.Fatal(err)
	}
	mine := filepath.Join(own, "image")
	if err := os.Rename(image, mine); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{own, mine} {
		if err := os.Chown(path, nobodysUser, nobodysUser); err != nil {
			t.Fatal(err)
		}
	}
	f := launchtest.Files(t)
	doc, err := json.Marshal(crash{Files: f, Launcher: copied(t, dir, launchtest.Program(t, "taproom-launch")), Cache: own, Image: mine})
	if err != nil {
		t.Fatal(err)
	}
	c := exec.CommandContext(t.Context(), copied(t, dir, self))
	c.Env = []string{"PATH=" + os.Getenv("PATH"), "TMPDIR=" + own, roleEnv + "=user", crashEnv + "=" + string(doc)}
	c.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobodysUser, Gid: nobodysUser}}
	out, err := c.CombinedOutput()
	if err != nil || !strings.Contains(string(out), "hello") {
		t.Errorf("%v: %s", err, out)
	}
}
