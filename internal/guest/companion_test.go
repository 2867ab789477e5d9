package guest

import (
	"os"
	"os/exec"
	"slices"
	"testing"

	"golang.org/x/sys/unix"

	side "taproom/internal/qemu/companion"
)

// companion starts the real program that serves a device, and returns QEMU's end of its socket.
func companion(t *testing.T, c Companion) *os.File {
	t.Helper()
	if c.Passt != nil { // which shows by its own tests that it serves; QEMU needs a peer that stays
		pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = unix.Close(pair[1]) })
		return os.NewFile(uintptr(pair[0]), "passt")
	}
	if c.Share != nil {
		places := side.VirtioFSPlaces()
		at := slices.IndexFunc(places, func(path string) bool { _, err := os.Stat(path); return err == nil })
		if at < 0 {
			t.Fatalf("virtiofsd is at none of %q; run tools/setup.sh test", places)
		}
		p := side.VirtioFSD(side.Share{Binary: places[at], Dir: t.TempDir()})
		return beside(t, p)
	}
	return swtpm(t, c.TPM.Backend.Version)
}

func swtpm(t *testing.T, version string) *os.File {
	t.Helper()
	p := side.SWTPM("/usr/bin/swtpm", version, t.TempDir(), 1, func(string) bool { return false })
	return beside(t, p)
}

// beside starts a program with a listening socket at its descriptor 3, and connects to that.
func beside(t *testing.T, p side.Program) *os.File {
	t.Helper()
	path := t.TempDir() + "/s"
	ours, theirs := unixSocket(t), unixSocket(t)
	if err := unix.Bind(int(theirs.Fd()), &unix.SockaddrUnix{Name: path}); err != nil {
		t.Fatal(err)
	}
	if err := unix.Listen(int(theirs.Fd()), 1); err != nil {
		t.Fatal(err)
	}
	if err := unix.Connect(int(ours.Fd()), &unix.SockaddrUnix{Name: path}); err != nil {
		t.Fatal(err)
	}
	c := exec.Command(p.Args[0], p.Args[1:]...)
	c.Dir, c.ExtraFiles = p.Dir, []*os.File{theirs}
	if err := c.Start(); err != nil {
		t.Fatalf("%v; run tools/setup.sh", err)
	}
	theirs.Close()
	t.Cleanup(func() {
		ours.Close() // it ends by itself then
		if err := c.Wait(); err != nil {
			t.Errorf("%s: %v", p.Name, err)
		}
	})
	return ours
}

func unixSocket(t *testing.T) *os.File {
	t.Helper()
	fd, err := unix.Socket(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	return os.NewFile(uintptr(fd), "socket")
}
