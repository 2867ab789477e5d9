package main

import (
	"bytes"
	"context"
	_ "embed" // run.sh
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

//go:embed run.sh
var runScript []byte

// scratch is the size of a guest's /tmp; its file has holes.
const scratch = 4 << 30

// errStuck says that a guest did not come to its end.
var errStuck = errors.New("the guest did not come to its end")

// boot runs the packages' tests in a guest with kernel k, within limit, which [patience] may extend. Logs are left in dir. An
// error is the guest's: it hung, or it crashed, and the end of its console says where.
func (k kernel) boot(ctx context.Context, repo, dir string, packages []pkg, limit time.Duration) error {
	if err := os.RemoveAll(dir); err != nil {
		return err
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	var list bytes.Buffer
	for _, p := range packages {
		fmt.Fprintf(&list, "%s %s %s\n", p.folder, p.binary, strings.Join(p.flags, " "))
	}
	disk := filepath.Join(dir, "disk")
	err := errors.Join(
		os.WriteFile(filepath.Join(dir, "run.sh"), append(fmt.Appendf(nil, "export TAPROOM_LAB=%s TAPROOM_BIN=%s/bin\nlimit=%d boots=%d\n", k.name, repo, int(limit.Seconds()), boots), runScript...), 0o600),
		os.WriteFile(filepath.Join(dir, "packages"), list.Bytes(), 0o600),
		os.WriteFile(disk, nil, 0o600), os.Truncate(disk, scratch))
	if err != nil {
		return err
	}
	defer os.Remove(disk)
	if _, err := run(ctx, dir, "mkfs.ext4", "-q", disk); err != nil {
		return err
	}
	ctx, cancel := patience(ctx, filepath.Join(dir, "booted"), limit)
	defer cancel()
	c := exec.CommandContext(ctx, "qemu-system-x86_64", k.arguments(repo, dir, disk)...)
	out, err := c.CombinedOutput()
	if _, missing := os.Stat(filepath.Join(dir, "done")); missing == nil && err == nil {
		return nil
	}
	console, _ := os.ReadFile(filepath.Join(dir, "console"))
	return fmt.Errorf("kernel %s, %s: %w\n%s", k.name, at(dir, packages), errors.Join(errStuck, context.Cause(ctx), err), tail(string(console)+string(out), 30))
}

func (k kernel) arguments(repo, dir, disk string) []string {
	share := func(path, tag, more string) []string {
		return []string{"-virtfs", "local,path=" + path + ",mount_tag=" + tag + ",security_model=none,multidevs=remap" + more}
	}
	a := []string{
		"-M", "pc,vmport=off,usb=off,hpet=off", "-nodefaults", "-display", "none", "-no-reboot", "-accel", "tcg", "-cpu", "max",
		"-smp", "2", "-m", "2048", "-serial", "file:" + filepath.Join(dir, "console"), "-kernel", k.image(), "-initrd", k.initramfs,
		"-drive", "file=" + disk + ",format=raw,if=virtio,cache=unsafe",
		"-append", "console=ttyS0 quiet panic=-1 reboot=t tsc=reliable no_timer_check mitigations=off random.trust_cpu=on repo=" +
			repo + " modules=" + k.modules(),
	}
	return append(append(a, share("/", "root", ",readonly=on")...), share(dir, "out", "")...)
}

// at says which package's tests ran last.
func at(dir string, packages []pkg) string {
	where := "before the first tests"
	for _, p := range packages {
		if _, err := os.Stat(filepath.Join(dir, p.binary+".log")); err == nil {
			where = "in " + p.folder
		}
	}
	return where
}

// tail is the last n lines of text.
func tail(text string, n int) string {
	lines := strings.Split(strings.TrimRight(text, "\n"), "\n")
	return strings.Join(lines[max(0, len(lines)-n):], "\n")
}
