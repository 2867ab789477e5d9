package host

import (
	"errors"
	"os/exec"
	"testing"
)

func TestAProcessHasANameUntilItIsGone(t *testing.T) {
	t.Parallel()
	k := New(Options{})
	defer k.Close()
	cmd := exec.Command("sleep", "60")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	name, err := k.ProcessName(cmd.Process.Pid)
	_ = cmd.Process.Kill()
	_ = cmd.Wait()
	if err != nil || name != "sleep" {
		t.Errorf("the process is called %q (%v), want sleep", name, err)
	}
	if name, err := k.ProcessName(cmd.Process.Pid); !errors.Is(err, ErrGone) {
		t.Errorf("a process that is gone is called %q (%v)", name, err)
	}
}
