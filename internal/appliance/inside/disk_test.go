package inside

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"

	"taproom/internal/appliance/proto"
)

// greeted is a clone that was greeted.
func greeted(ctx context.Context, t *testing.T, p template) *machine {
	t.Helper()
	m := p.clone(ctx, t)
	if _, err := m.agent.Hello(ctx, proto.Greeting{UnixNano: time.Now().UnixNano()}); err != nil {
		t.Fatalf("%v\n%s", err, m.out)
	}
	return m
}

// end kills a machine as a host that crashes would.
func (m *machine) end() {
	_ = m.cmd.Process.Kill()
	<-m.exited
}

// tool runs one of the distribution's.
func tool(t *testing.T, input string, args ...string) string {
	t.Helper()
	c := exec.Command(args[0], args[1:]...)
	c.Stdin = strings.NewReader(input)
	c.Env = append(os.Environ(), "PATH="+os.Getenv("PATH")+":/usr/sbin:/sbin")
	out, err := c.CombinedOutput()
	if err != nil {
		t.Fatalf("%q: %v\n%s", args, err, out)
	}
	return string(out)
}

// noise is that many bytes, the same for a seed.
func noise(seed uint64, size int) []byte {
	b := make([]byte, size)
	r := rand.NewChaCha8([32]byte{byte(seed)})
	_, _ = r.Read(b)
	return b
}

// What was synced is on the disk, whatever becomes of the appliance.
func whatIsSyncedIsOnTheDisk(ctx context.Context, t *testing.T, p template) {
	disk := mkfs(t, 32, image(t))
	m := greeted(ctx, t, p)
	m.attach(ctx, t, disk, "D1", false)
	if _, err := m.agent.Mount(ctx, proto.Mount{Device: "serial:D1", At: "/mnt/image"}); err != nil {
		t.Fatal(err)
	}
	text := noise(1, 300_000)
	for _, err := range []error{
		m.agent.Mkdir(ctx, proto.Make{Path: "/mnt/image/new", Mode: 0o755}),
		m.agent.Rename(ctx, "/mnt/image/etc/motd", "/mnt/image/new/motd"),
		m.agent.Remove(ctx, proto.Remove{Path: "/mnt/image/deep", All: true}),
		m.agent.SetXattr(ctx, proto.Xattr{Path: "/mnt/image/new/motd", Name: "user.colour", Value: []byte("blue")}),
	} {
		if err != nil {
			t.Error(err)
		}
	}
	if _, err := m.agent.Write(ctx, proto.Write{Path: "/mnt/image/new/file", Create: true, Mode: 0o640}, bytes.NewReader(text)); err != nil {
		t.Fatal(err)
	}
	if err := m.agent.Sync(ctx); err != nil {
		t.Fatal(err)
	}
	if _, err := m.agent.Write(ctx, proto.Write{Path: "/mnt/image/new/one", Create: true, Mode: 0o640, Sync: true}, strings.NewReader("one")); err != nil {
		t.Fatal(err)
	}
	m.end()
	tool(t, "", "e2fsck", "-p", "-E", "journal_only", disk)
	out := filepath.Join(t.TempDir(), "file")
	tool(t, "", "debugfs", "-R", "dump /new/file "+out, disk)
	if got, err := os.ReadFile(out); err != nil || !bytes.Equal(got, text) {
		t.Errorf("the file that was synced has %d bytes, %v, and not those that were written", len(got), err)
	}
	for command, want := range map[string]string{
		"cat /new/motd": "hello", "cat /new/one": "one", "ea_get /new/motd user.colour": `user.colour (4) = "blue"`,
		"cat /deep/er/file": "File not found by ext2_lookup",
	} {
		if got := tool(t, "", "debugfs", "-R", command, disk); !strings.Contains(got, want) {
			t.Errorf("%s: %q, want %q", command, got, want)
		}
	}
}

// Bulk goes through disks of its own, and is the same afterwards. None of the sizes is whole blocks.
func bulkArrivesWhole(ctx context.Context, t *testing.T, p template) {
	m := greeted(ctx, t, p)
	m.attach(ctx, t, mkfs(t, 64, image(t)), "D1", false)
	if _, err := m.agent.Mount(ctx, proto.Mount{Device: "serial:D1", At: "/"}); err != nil {
		t.Fatal(err)
	}
	for i, size := range []int{2*piece + 777, 0, 1, align, piece} {
		want := noise(uint64(i), size)
		room := (size + 2*align) &^ (align - 1)
		source, target := filepath.Join(t.TempDir(), "source"), filepath.Join(t.TempDir(), "target")
		for path, content := range map[string][]byte{source: append(bytes.Clone(want), noise(99, room-size)...), target: make([]byte, room)} {
			if err := os.WriteFile(path, content, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		in, out, file := fmt.Sprint("IN", i), fmt.Sprint("OUT", i), fmt.Sprint("/bulk", i)
		m.attach(ctx, t, source, in, true)
		m.attach(ctx, t, target, out, false)
		var last proto.Progress
		if err := m.agent.CopyIn(ctx, proto.Copy{Device: "serial:" + in, Path: file, Size: int64(size), Mode: 0o604, Sync: true}, func(p proto.Progress) { last = p }); err != nil {
			t.Fatal(err)
		}
		if last.Done > uint64(size) || (last.Done > 0 && last.Total != uint64(size)) {
			t.Errorf("progress of %d bytes: %+v", size, last)
		}
		if s, err := m.agent.Stat(ctx, proto.Path{Path: file}); err != nil || s.Size != int64(size) || s.Mode != unix.S_IFREG|0o604 {
			t.Errorf("%d bytes went in, the file: %+v, %v", size, s, err)
		}
		n, err := m.agent.CopyOut(ctx, proto.Copy{Device: "serial:" + out, Path: file, Sync: true}, nil)
		if err != nil || n != int64(size) {
			t.Fatalf("%d bytes came out, %v, want %d", n, err, size)
		}
		got, err := os.ReadFile(target)
		if err != nil || !bytes.Equal(got[:size], want) || len(got) != room {
			t.Errorf("what came out, %d bytes, is not what went in, %v", size, err)
		}
		var port bytes.Buffer
		if err := m.agent.Read(ctx, proto.Read{Path: file, Length: -1}, &port); err != nil || !bytes.Equal(port.Bytes(), want) {
			t.Errorf("read through the port: %d bytes, %v", port.Len(), err)
		}
	}
	if err := m.agent.CopyIn(ctx, proto.Copy{Device: "serial:IN4", Path: "/x", Size: 1 << 40, Mode: 0o600}, nil); !errors.Is(err, unix.EINVAL) {
		t.Errorf("more than the disk has: %v, want EINVAL", err)
	}
	if _, err := m.agent.CopyOut(ctx, proto.Copy{Device: "serial:OUT1", Path: "/bulk0"}, nil); !errors.Is(err, unix.ENOSPC) {
		t.Errorf("to a disk that is too small: %v, want ENOSPC", err)
	}
	if err := m.agent.CopyIn(ctx, proto.Copy{Device: "vport0p1", Path: "/x", Mode: 0o600}, nil); !errors.Is(err, unix.ENOTBLK) {
		t.Errorf("from what is no disk: %v, want ENOTBLK", err)
	}
	if err := m.agent.Shutdown(ctx); err != nil {
		t.Error(err)
	}
}

func devicesAreKnown(ctx context.Context, t *testing.T, p template) {
	disk := sparse(t, 32)
	tool(t, "label: gpt\nsize=8MiB, name=boot\nsize=8MiB, name=data\n", "sfdisk", "-q", disk)
	at := func(content string, offset int64) {
		b, err := os.ReadFile(content)
		if err != nil {
			t.Fatal(err)
		}
		f, err := os.OpenFile(disk, os.O_WRONLY, 0)
		if err != nil {
			t.Fatal(err)
		}
		_, err = f.WriteAt(b, offset)
		if err := errors.Join(err, f.Close()); err != nil {
			t.Fatal(err)
		}
	}
	boot := mkfs(t, 8, t.TempDir())
	at(boot, 1<<20)
	m := greeted(ctx, t, p)
	waited := make(chan error, 1)
	go func() {
		d, err := m.agent.Await(ctx, "PARTS")
		if err == nil && (d.Name != "sda" || d.Size != 32<<20 || d.Sector != 512 || !d.ReadOnly) {
			err = fmt.Errorf("got %+v", d)
		}
		waited <- err
	}()
	m.attach(ctx, t, disk, "PARTS", true)
	if err := <-waited; err != nil {
		t.Error(err)
	}
	m.attach(ctx, t, sparse(t, 1), "BLANK", false)
	if _, err := m.agent.Await(ctx, "BLANK"); err != nil {
		t.Fatal(err)
	}
	got, err := m.agent.Devices(ctx, proto.Probe{Contents: true})
	if err != nil {
		t.Fatal(err)
	}
	for i := range got {
		if (got[i].Type == "ext4") != (got[i].UUID != "") {
			t.Errorf("%s holds %q, UUID %q", got[i].Name, got[i].Type, got[i].UUID)
		}
		got[i].UUID, got[i].PartUUID = "", "" // the one is random, the other newer kernels' alone
	}
	want := []proto.Device{
		{Name: "sda", Serial: "PARTS", Size: 32 << 20, Sector: 512, ReadOnly: true},
		{Name: "sda1", Parent: "sda", Number: 1, Start: 1 << 20, Size: 8 << 20, Sector: 512, ReadOnly: true, PartName: "boot", Type: "ext4", Label: "test"},
		{Name: "sda2", Parent: "sda", Number: 2, Start: 9 << 20, Size: 8 << 20, Sector: 512, ReadOnly: true, PartName: "data"},
		{Name: "sdb", Serial: "BLANK", Size: 1 << 20, Sector: 512},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if _, err := m.agent.Mount(ctx, proto.Mount{Device: "sda1", At: "/", ReadOnly: true}); err != nil {
		t.Error(err)
	}
	for device, want := range map[string]error{"sda2": unix.EINVAL, "sdz": unix.ENOENT, "../etc/passwd": unix.EINVAL, "": unix.EINVAL, "null": unix.ENOTBLK} {
		if _, err := m.agent.Mount(ctx, proto.Mount{Device: device, At: "/x", ReadOnly: true}); !errors.Is(err, want) {
			t.Errorf("mount %q: %v, want %v", device, err, want)
		}
	}
	soon, cancel := context.WithTimeout(ctx, 100*time.Millisecond)
	defer cancel()
	if _, err := m.agent.Await(soon, "NEVER"); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("wait for a disk that never comes: %v", err)
	}
	if err := m.agent.Shutdown(ctx); err != nil {
		t.Error(err)
	}
}
