package qemu

import (
	"errors"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"taproom/internal/host"
	"taproom/internal/qemu/launch"
	"taproom/internal/qemu/qmp"
	"taproom/internal/qemu/spawn"
)

// BenchmarkBareQEMU is the floor: exec to QEMU's greeting, with the options of a guest and nothing of ours in between.
func BenchmarkBareQEMU(b *testing.B) {
	for _, e := range emulators(b) {
		b.Run(e.name, func(b *testing.B) {
			c := e.minimal()
			c.QMP = "qmp"
			argv, _, err := c.Args(spawn.FirstFD)
			if err != nil {
				b.Fatal(err)
			}
			k := kernel()
			path := filepath.Join(b.TempDir(), "qmp.sock")
			for b.Loop() {
				bare(b, k, e, argv, path)
			}
		})
	}
}

func bare(b *testing.B, k *host.Kernel, e emulator, argv []string, path string) {
	l, err := k.ListenUnix(path, 0o600)
	if err != nil {
		b.Fatal(err)
	}
	conn, err := net.Dial("unix", path)
	if err != nil {
		b.Fatal(err)
	}
	c := exec.Command(e.binary, argv...)
	c.Env, c.ExtraFiles = append(os.Environ(), e.env...), []*os.File{l}
	if err := c.Start(); err != nil {
		b.Fatal(err)
	}
	l.Close()
	client, err := qmp.New(b.Context(), k, conn, path)
	b.StopTimer()
	if err != nil {
		b.Fatal(err)
	}
	client.Close()
	_ = c.Process.Kill()
	_ = c.Wait()
	_ = os.Remove(path)
	b.StartTimer()
}

// BenchmarkStart is the same through taproom-launch, confined.
func BenchmarkStart(b *testing.B) {
	for _, e := range emulators(b) {
		b.Run(e.name, func(b *testing.B) {
			s, k := spec(b, e.minimal()), kernel()
			for b.Loop() {
				p, err := Start(b.Context(), k, s)
				b.StopTimer()
				if err != nil {
					b.Fatal(err)
				}
				if err := stop(p); err != nil {
					b.Fatal(err)
				}
				_ = os.Remove(s.QMPPath)
				b.StartTimer()
			}
		})
	}
}

// BenchmarkLaunch is taproom-launch alone: from fork to the end of a program that does nothing.
func BenchmarkLaunch(b *testing.B) {
	path := launcher(b)
	spec := launch.Spec{
		Path: "/bin/true", Args: []string{"true"}, UID: testUID, GID: testUID,
		Landlock: ruleset(&Config{Binary: "/bin/true"}, func(p string) bool { _, err := os.Stat(p); return err == nil }),
	}
	k := kernel()
	for b.Loop() {
		child, status, err := spawn.Start(k, spawn.Command{Launcher: path, Spec: spec})
		if err != nil {
			b.Fatal(err)
		}
		_, err = spawn.Report(b.Context(), status)
		exit, werr := child.Wait(b.Context())
		if err := errors.Join(err, werr, status.Close(), child.Close()); err != nil || exit.Code != 0 {
			b.Fatal(exit, err)
		}
	}
}
