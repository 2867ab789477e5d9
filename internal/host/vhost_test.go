package host

import (
	"bufio"
	"io"
	"os/exec"
	"testing"
)

// The kernel names the workers of a process so, whether they are threads of its own or of the kernel.
func TestWorkersOfVHostAreFoundByTheirName(t *testing.T) {
	t.Parallel()
	k := New(Options{})
	defer k.Close()
	const nowhere = "/sys/fs/cgroup/nowhere"
	c := exec.Command("sh", "-c", "echo begun; read x; printf vhost-$$ >/proc/$$/comm; echo named; read x")
	in, err := c.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := c.StdoutPipe()
	if err == nil {
		err = c.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(out)
	for want, state := range []string{"begun", "named"} {
		if !lines.Scan() || lines.Text() != state {
			t.Fatalf("%q, %v", lines.Text(), lines.Err())
		}
		if n, err := k.VHostWorkers(c.Process.Pid, nowhere); n != want || err != nil {
			t.Errorf("%s: %d workers, %v", state, n, err)
		}
		if _, err := io.WriteString(in, "\n"); err != nil {
			t.Fatal(err)
		}
	}
	if err := c.Wait(); err != nil {
		t.Fatal(err)
	}
	if n, err := k.VHostWorkers(c.Process.Pid, nowhere); n != 0 || err != nil {
		t.Errorf("a process that is gone has %d workers, %v", n, err)
	}
}
