package cache

import (
	"errors"
	"io"
	"os/exec"
	"path/filepath"
	"testing"
)

func TestAProgramThatRunsIsHeld(t *testing.T) {
	t.Parallel()
	cat, err := exec.LookPath("cat")
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "program")
	// A process of its own writes it: one that this test starts meanwhile would have it open for writing, and nobody could execute it.
	c := exec.CommandContext(t.Context(), "cp", cat, path)
	if out, err := c.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	c = exec.CommandContext(t.Context(), path)
	in, err := c.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := c.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	if _, err := in.Write([]byte("x")); err != nil {
		t.Error(err)
	}
	if _, err := io.ReadFull(out, make([]byte, 1)); err != nil { // it runs
		t.Error(err)
	}
	if err := Remove(path, path); !errors.Is(err, ErrHeld) || !Exists(path) {
		t.Errorf("while it runs: %v", err)
	}
	if err := errors.Join(in.Close(), c.Wait()); err != nil {
		t.Error(err)
	}
	if err := Remove(path, path); err != nil || Exists(path) {
		t.Errorf("afterwards: %v", err)
	}
}
