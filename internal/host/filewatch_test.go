package host_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"taproom/internal/host"
	"taproom/internal/host/hosttest"
)

// watched is a folder with files, and a watch of one of them.
type watched struct {
	t    *testing.T
	dir  string
	w    *host.FileWatch
	told chan string // what the file held when the watch said that it may have changed
}

func watch(t *testing.T, dir, name string) *watched {
	t.Helper()
	k := host.New(host.Options{})
	w, err := k.WatchFile(filepath.Join(dir, name))
	if err != nil {
		t.Fatal(err)
	}
	x := &watched{t, dir, w, make(chan string, 100)}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() {
		for {
			if err := w.Wait(ctx); err != nil {
				done <- err
				return
			}
			b, _ := os.ReadFile(filepath.Join(dir, name))
			x.told <- string(b)
		}
	}()
	t.Cleanup(func() {
		cancel()
		if err := <-done; !errors.Is(err, context.Canceled) {
			t.Errorf("the watch ended with %v", err)
		}
		if err := w.Close(); err != nil {
			t.Error(err)
		}
	})
	return x
}

// becomes waits until the watch told of a file that holds this.
func (x *watched) becomes(want string) {
	x.t.Helper()
	limit := time.After(hosttest.Patience)
	for {
		select {
		case got := <-x.told:
			if got == want {
				return
			}
		case <-limit:
			x.t.Fatalf("nobody told that the file holds %q", want)
		}
	}
}

func (x *watched) write(name, text string) {
	x.t.Helper()
	if err := os.WriteFile(filepath.Join(x.dir, name), []byte(text), 0o600); err != nil {
		x.t.Fatal(err)
	}
}

// replace puts a file in another one's place, as editors and network managers do.
func (x *watched) replace(name, text string) {
	x.t.Helper()
	x.write(name+".new", text)
	if err := os.Rename(filepath.Join(x.dir, name+".new"), filepath.Join(x.dir, name)); err != nil {
		x.t.Fatal(err)
	}
}

func (x *watched) link(to, name string) {
	x.t.Helper()
	temp := filepath.Join(x.dir, name+".link")
	if err := os.Symlink(to, temp); err != nil {
		x.t.Fatal(err)
	}
	if err := os.Rename(temp, filepath.Join(x.dir, name)); err != nil {
		x.t.Fatal(err)
	}
}

func TestAWatchTellsOfEveryWayAFileChanges(t *testing.T) {
	t.Parallel()
	x := watch(t, t.TempDir(), "conf")
	x.write("conf", "made")
	x.becomes("made")
	x.write("conf", "written in place")
	x.becomes("written in place")
	x.replace("conf", "replaced")
	x.becomes("replaced")
	if err := os.Remove(filepath.Join(x.dir, "conf")); err != nil {
		t.Fatal(err)
	}
	x.becomes("")
	x.replace("conf", "back")
	x.becomes("back")
}

func TestAWatchFollowsSymbolicLinksThatChange(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for _, d := range []string{"etc", "run"} {
		if err := os.Mkdir(filepath.Join(dir, d), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink("../run/resolve/stub", filepath.Join(dir, "etc/conf")); err != nil {
		t.Fatal(err)
	}
	x := watch(t, dir, "etc/conf")
	// The folder that the link leads to is not there yet.
	if err := os.Mkdir(filepath.Join(dir, "run/resolve"), 0o700); err != nil {
		t.Fatal(err)
	}
	x.write("run/resolve/stub", "from the service")
	x.becomes("from the service")
	x.replace("run/resolve/stub", "from the service, again")
	x.becomes("from the service, again")
	// The service ends and takes its folder away.
	if err := os.RemoveAll(filepath.Join(dir, "run/resolve")); err != nil {
		t.Fatal(err)
	}
	x.becomes("")
	if err := os.Mkdir(filepath.Join(dir, "run/resolve"), 0o700); err != nil {
		t.Fatal(err)
	}
	x.write("run/resolve/stub", "it is back")
	x.becomes("it is back")
	// The link leads elsewhere.
	x.write("run/other", "another")
	x.link("../run/other", "etc/conf")
	x.becomes("another")
	x.write("run/other", "another, changed")
	x.becomes("another, changed")
	// It is a file now.
	x.replace("etc/conf", "a file")
	x.becomes("a file")
}

func TestAWatchIsSilentAboutOtherFiles(t *testing.T) {
	t.Parallel()
	x := watch(t, t.TempDir(), "conf")
	for range 20 {
		x.replace("passwd", "of no interest")
	}
	x.write("conf", "first")
	if got := <-x.told; got != "first" && got != "" { // made, and not written yet
		t.Errorf("told of %q", got)
	}
}

func TestAWatchWithoutItsFolderIsSilentAboutWhatIsBesideIt(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	x := watch(t, dir, "etc/net/conf")
	for range 20 {
		x.replace("log", "of no interest")
	}
	if err := os.MkdirAll(filepath.Join(dir, "etc/net"), 0o700); err != nil {
		t.Fatal(err)
	}
	x.write("etc/net/conf", "first")
	times := 1
	for got := <-x.told; got != "first"; got = <-x.told {
		times++
	}
	if times > 8 { // two folders and a file, each made and then written
		t.Errorf("told %d times until the file was there", times)
	}
}

func TestAWatchOfACircleOfLinksWaitsForItsEnd(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for a, b := range map[string]string{"a": "b", "b": "a"} {
		if err := os.Symlink(b, filepath.Join(dir, a)); err != nil {
			t.Fatal(err)
		}
	}
	x := watch(t, dir, "a")
	x.replace("b", "an end")
	x.becomes("an end")
}

func TestAWatchBelowAFileThatIsNoFolderIsOfWhatMayBecomeOne(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "x"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	x := watch(t, dir, "x/conf")
	if err := errors.Join(os.Remove(filepath.Join(dir, "x")), os.Mkdir(filepath.Join(dir, "x"), 0o700)); err != nil {
		t.Fatal(err)
	}
	x.write("x/conf", "there")
	x.becomes("there")
}
