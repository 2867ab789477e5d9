package hosttest_test

import (
	"os/exec"
	"path/filepath"
	"sync"
	"testing"

	"taproom/internal/host/hosttest"
)

func TestWriteProgram_IsExecutableWhileOthersFork(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	var running sync.WaitGroup
	defer running.Wait()
	stop := make(chan struct{})
	defer close(stop)
	for range 4 {
		running.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
					_ = exec.Command("/bin/true").Run()
				}
			}
		})
	}
	for range 200 {
		path := filepath.Join(dir, "program")
		if err := hosttest.WriteProgram(path, []byte("#!/bin/sh\n")); err != nil {
			t.Fatal(err)
		}
		if err := exec.Command(path).Run(); err != nil {
			t.Fatal(err)
		}
	}
}
