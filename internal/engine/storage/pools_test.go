package storage

import (
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"taproom/internal/api/server"
	"taproom/internal/engine/store"
	"taproom/internal/host"
)

func opened(t *testing.T) (*Pools, server.Pool) {
	t.Helper()
	k := host.New(host.Options{})
	t.Cleanup(k.Close)
	dir := t.TempDir()
	s, err := Open(Config{
		Kernel: k, Log: slog.New(slog.DiscardHandler), Definitions: filepath.Join(dir, "defs"), Active: filepath.Join(dir, "active"),
		Publish: func(server.Event) {}, DocumentFits: func([]byte) error { return nil },
		Damaged: func([]*store.Damaged) {}, Problem: func(string) {},
	})
	if err != nil {
		t.Fatal(err)
	}
	folder := filepath.Join(dir, "pool")
	if err := os.Mkdir(folder, 0o755); err != nil {
		t.Fatal(err)
	}
	p, err := s.CreatePool(t.Context(), fmt.Sprintf("<pool type='dir'><name>p</name><target><path>%s</path></target></pool>", folder), false)
	if err != nil {
		t.Fatal(err)
	}
	return s, p
}

// A pool whose folder does not answer, on a server that is gone, keeps whoever starts it waiting, and no volume of another.
func TestVolumesAreMadeWhileAnotherPoolHangs(t *testing.T) {
	t.Parallel()
	s, p := opened(t)
	s.change.Lock() // as the start of the other one has it
	defer s.change.Unlock()
	done := make(chan error, 1)
	go func() {
		_, err := s.CreateVolume(t.Context(), p.UUID, "<volume><name>v</name><capacity>4096</capacity></volume>", nil, 0)
		done <- err
	}()
	select {
	case err := <-done:
		if err != nil {
			t.Error(err)
		}
	case <-time.After(time.Minute):
		t.Fatal("it waits for the other pool")
	}
}

// A pool with jobs is not stopped, and one that is being stopped gets none.
func TestAPoolIsStoppedOnlyWithoutJobs(t *testing.T) {
	t.Parallel()
	s, p := opened(t)
	_, end, err := s.begin(p.UUID)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.DestroyPool(t.Context(), p.UUID); err == nil || !strings.Contains(err.Error(), "asynchronous jobs running") {
		t.Errorf("with a job: %v", err)
	}
	end()
	if !s.idle(p.UUID, true) {
		t.Fatal("the job is over, and counts")
	}
	if _, _, err := s.begin(p.UUID); err == nil || !strings.Contains(err.Error(), "is not active") {
		t.Errorf("while it is being stopped: %v", err)
	}
	s.idle(p.UUID, false)
	if _, end, err = s.begin(p.UUID); err != nil {
		t.Errorf("when it could not be stopped: %v", err)
	} else {
		end()
	}
	if err := s.DestroyPool(t.Context(), p.UUID); err != nil {
		t.Error(err)
	}
}
