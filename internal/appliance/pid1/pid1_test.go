package pid1

import (
	"encoding/binary"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"

	"taproom/internal/appliance/pid1/pid1test"
)

func TestModulesAreLoadedOnceAndAFailureStopsWhatDependsOnIt(t *testing.T) {
	t.Parallel()
	l, err := OpenLoader(pid1test.Tree(t, map[string]string{
		"modules.dep":   "a.ko: b.ko\nb.ko:\nc.ko: bad.ko\nbad.ko:\n",
		"modules.alias": "alias dev:1* a\nalias dev:2* c\nalias dev:3* b\n",
		"modules.boot":  "b\n",
	}))
	if err != nil {
		t.Fatal(err)
	}
	var inserted []string
	l.insert = func(path string) error {
		inserted = append(inserted, filepath.Base(path))
		if strings.HasPrefix(filepath.Base(path), "bad") {
			return errors.New("no such device")
		}
		return nil
	}
	l.BootModules()
	var news []bool
	for _, want := range []string{"dev:1x", "dev:1x", "dev:3", "dev:2", "dev:2b", "dev:9"} {
		news = append(news, l.Want(want))
	}
	if diff := cmp.Diff([]bool{true, false, false, false, false, false}, news); diff != "" {
		t.Errorf("new modules (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"b.ko", "a.ko", "bad.ko"}, inserted); diff != "" {
		t.Errorf("inserted (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"b", "a"}, l.Names()); diff != "" {
		t.Errorf("loaded (-want +got):\n%s", diff)
	}
}

func TestLoaderWithoutTablesFindsNothing(t *testing.T) {
	t.Parallel()
	l, err := OpenLoader(t.TempDir())
	if !errors.Is(err, os.ErrNotExist) || l.Want("anything") {
		t.Errorf("got %v, want a loader that finds nothing and os.ErrNotExist", err)
	}
}

func TestEventOfTheKernelIsRead(t *testing.T) {
	t.Parallel()
	got := parseUevent([]byte("add@/devices/x\x00ACTION=add\x00DEVPATH=/devices/x\x00MODALIAS=pci:v=1\x00"))
	if diff := cmp.Diff(Uevent{"ACTION": "add", "DEVPATH": "/devices/x", "MODALIAS": "pci:v=1"}, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestEntropyIsHandedOverAsTheKernelWantsIt(t *testing.T) {
	t.Parallel()
	b := entropyInfo([]byte("seed"))
	got := []any{binary.NativeEndian.Uint32(b), binary.NativeEndian.Uint32(b[4:]), string(b[8:])}
	if diff := cmp.Diff([]any{uint32(32), uint32(4), "seed"}, got); diff != "" {
		t.Errorf("bits, bytes, seed (-want +got):\n%s", diff)
	}
	if err := (&Entropy{fd: -1}).Add(make([]byte, maxSeed+1)); err == nil || errors.Is(err, unix.EBADF) {
		t.Errorf("a seed beyond the limit: %v, want it refused before the kernel sees it", err)
	}
}
