package diskcli

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"taproom/disk"
	"taproom/disk/inspect"
)

func TestAFolderStandsForTheImagesInIt(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for _, name := range []string{"b.qcow2", "a.IMG", "notes.txt", "c"} {
		if err := os.WriteFile(filepath.Join(dir, name), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Mkdir(filepath.Join(dir, "folder.img"), 0o700); err != nil {
		t.Fatal(err)
	}
	got, err := expand([]string{"one", dir, filepath.Join(dir, "c")})
	want := []string{"one", filepath.Join(dir, "a.IMG"), filepath.Join(dir, "b.qcow2"), filepath.Join(dir, "c")}
	if err != nil || !slices.Equal(got, want) {
		t.Errorf("%q (%v), want %q", got, err, want)
	}
	if _, err := expand([]string{filepath.Join(dir, "folder.img")}); err == nil || !strings.Contains(err.Error(), "folder.img has no images") {
		t.Errorf("a folder without any: %v", err)
	}
}

func TestSizesHaveUnits(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]int64{"": 0, "0": 0, "123": 123, "4K": 4096, "2m": 2 << 20, "1G": 1 << 30, "3T": 3 << 40} {
		if got, err := size(text); err != nil || got != want {
			t.Errorf("%q: %d, %v", text, got, err)
		}
	}
	for _, text := range []string{"K", "-1", "1.5G", "x", "9999999T"} {
		if got, err := size(text); err == nil {
			t.Errorf("%q is %d", text, got)
		}
	}
}

func TestWhatWasFoundIsPrintedFitForATerminal(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	err := writeReport(&b, &inspect.Report{Systems: []inspect.Found{{
		Root: inspect.Root{Volume: "sda2", Options: "subvol=root"},
		System: inspect.System{
			Name: "Evil\x1b[2J", Distribution: "fedora", Version: "40", Packages: make([]inspect.Package, 3), Packaging: "rpm", Kernels: []inspect.Kernel{{Version: "6.8", Image: "/boot/vmlinuz-6.8"}},
			Problems: []inspect.Problem{{Path: "/etc/x\n", What: "damaged"}},
		},
		Usage: []inspect.Usage{{Device: "sda2", At: "/", Size: 4 << 30, Used: 1 << 30, Available: 3 << 30}},
	}}})
	const want = `root          sda2 subvol=root
system        "Evil\x1b[2J"
distribution  fedora 40
kernel        6.8 /boot/vmlinuz-6.8
packages      3 rpm
mounted       / sda2 1.0 GiB of 4.0 GiB 25%
problem       "/etc/x\n": damaged
`
	if err != nil || b.String() != want {
		t.Errorf("%v, got\n%s\nwant\n%s", err, b.String(), want)
	}
	b.Reset()
	if err := writeReport(&b, &inspect.Report{Volumes: []inspect.Volume{{Name: "sda", Type: "iso9660", Size: 1 << 20}}}); err != nil || !strings.Contains(b.String(), "no operating system is known on it") {
		t.Errorf("%v, got\n%s", err, b.String())
	}
}

func TestEachImageIsALineForPrograms(t *testing.T) {
	t.Parallel()
	var out, errs strings.Builder
	env := &Env{Stdout: &out, Stderr: &errs, JSON: func() bool { return true }}
	for _, r := range []disk.Result[int]{{Path: "a", Value: 7, Took: time.Millisecond}, {Path: "b", Err: errors.New("broken <it>")}} {
		if err := printOne(env, r, true, nil); err != nil {
			t.Error(err)
		}
	}
	env.summary(tally{Images: 3, Done: 1, Failed: 1, NotBegun: 1})
	const want = `{"image":"a","result":7,"took_ms":1}
{"image":"b","error":"broken <it>","took_ms":0}
{"summary":{"images":3,"done":1,"failed":1,"not_begun":1}}
`
	if out.String() != want || errs.String() != "" {
		t.Errorf("got %s%s", out.String(), errs.String())
	}
	out.Reset()
	env.JSON = func() bool { return false }
	env.summary(tally{Images: 3, Done: 1, Failed: 1, NotBegun: 1})
	if errs.String() != "3 images: 1 done, 1 failed, 1 not begun\n" {
		t.Errorf("got %q", errs.String())
	}
}

func TestKeysAreReadFromFilesAndStandardInput(t *testing.T) {
	t.Parallel()
	name := filepath.Join(t.TempDir(), "key")
	if err := os.WriteFile(name, []byte("secret\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	s := sources{keys: []string{name, "sda2=-"}}
	if err := s.readKeys(&Env{Stdin: strings.NewReader("other")}); err != nil {
		t.Fatal(err)
	}
	if len(s.secrets) != 2 || string(s.secrets[0].Secret) != "secret" || s.secrets[0].Device != "" || string(s.secrets[1].Secret) != "other" || s.secrets[1].Device != "sda2" {
		t.Errorf("keys %q", s.secrets)
	}
	if err := (&sources{keys: []string{"/none"}}).readKeys(&Env{}); err == nil || !strings.Contains(err.Error(), "--key /none") {
		t.Errorf("a file that is not there: %v", err)
	}
}
