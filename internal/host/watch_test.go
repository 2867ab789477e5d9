package host_test

import (
	"context"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"taproom/internal/host"
)

func TestWritesBelowADirectoryAreTold(t *testing.T) {
	t.Parallel()
	k := host.New(host.Options{})
	dir := t.TempDir()
	ctx, cancel := context.WithCancel(t.Context())
	told := make(chan string, 16)
	w, err := k.WatchWrites(dir)
	must(t, err)
	var watching sync.WaitGroup
	watching.Go(func() {
		if err := w.Run(ctx, func(name string) { told <- name }); err != nil {
			t.Error(err)
		}
	})
	for _, name := range []string{"a.log", "a much longer name.log"} {
		must(t, os.WriteFile(filepath.Join(dir, name), []byte("x"), 0o600))
		if got := <-told; got != name {
			t.Errorf("told of %q, want %q", got, name)
		}
	}
	cancel()
	watching.Wait()
	if _, err := k.WatchWrites(filepath.Join(dir, "a.log")); err == nil {
		t.Error("a file was watched as a directory")
	}
}
