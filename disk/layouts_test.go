package disk_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"

	"taproom/disk"
	"taproom/disk/disktest"
)

// layout is one file of testdata/layouts: how images are made, and what is seen of them.
type layout struct {
	path   string
	parts  *txtar.Archive
	images []string // names of further images, beside $I
	keys   []disk.Key
	tools  bool // what it is made of is put together by the tools, or the images are made by them
	brief  bool // it is seen in `make test`, too
}

func readLayout(t *testing.T, path string) layout {
	t.Helper()
	a, err := txtar.ParseFile(path)
	if err != nil {
		t.Fatal(err)
	}
	l := layout{path: path, parts: a}
	for line := range strings.Lines(string(a.Comment)) {
		switch key, value, _ := strings.Cut(strings.TrimSpace(line), ": "); key {
		case "images":
			l.images = strings.Fields(value)
		case "key":
			l.keys = append(l.keys, disk.Key{Secret: []byte(value)})
		case "tools":
			l.tools = true
		case "brief":
			l.brief = true
		}
	}
	return l
}

func (l layout) part(name string) string {
	for _, f := range l.parts.Files {
		if f.Name == name {
			return string(f.Data)
		}
	}
	return ""
}

// open launches an appliance with a layout's images.
func (l layout) open(t *testing.T, image string, access disk.Access) *disk.Appliance {
	t.Helper()
	s := disk.Spec{CacheDir: cacheDir()}
	if l.tools {
		s.Memory = 384 // MiB; less is too little for what makes file systems and opens keys
	}
	for _, name := range append([]string{filepath.Base(image)}, l.images...) {
		s.Images = append(s.Images, disk.Image{Path: filepath.Join(filepath.Dir(image), name), Format: formatOf(name), Access: access})
	}
	a, err := disk.Launch(t.Context(), s)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := a.Close(context.WithoutCancel(t.Context())); err != nil {
			t.Error(err)
		}
	})
	return a
}

// formatOf is the format of an image by its name.
func formatOf(name string) string {
	if ext := strings.TrimPrefix(filepath.Ext(name), "."); ext != "" {
		return ext
	}
	return "raw"
}

// seen is everything that is to be said of the images.
func (l layout) seen(ctx context.Context, a *disk.Appliance) (string, error) {
	if l.tools {
		if err := a.Assemble(ctx, disk.Assembly{Keys: l.keys}); err != nil {
			return "", err
		}
	}
	list, err := a.Filesystems(ctx, disk.LookOptions{Usage: true, Subvolumes: true})
	if err != nil {
		return "", err
	}
	var b strings.Builder
	for _, f := range list {
		fmt.Fprintf(&b, "%s image=%d type=%s label=%q uuid=%s part=%q size=%d\n", f.Device, f.Image, f.Type, f.Label, f.UUID, f.PartLabel, f.Size)
		fmt.Fprintf(&b, "  on %s\n", strings.Join(f.Stack, " / "))
		if f.Subvolume != "" {
			fmt.Fprintf(&b, "  subvolume %s\n", f.Subvolume)
		}
		if f.Problem != "" {
			fmt.Fprintf(&b, "  problem\n")
		}
		if f.Total > 0 && f.Used >= 0 && f.Used <= f.Total && f.Total <= f.Size+4096 {
			fmt.Fprintf(&b, "  its use is known\n")
		}
		if !f.Mountable() || f.Problem != "" {
			continue
		}
		if err := tree(ctx, &b, a, f); err != nil {
			return "", fmt.Errorf("%s: %w", f.Device, err)
		}
	}
	return named(a, b.String()), nil
}

// named calls the disks by the places of their images: what the appliance calls them depends on whether it has tools.
func named(a *disk.Appliance, text string) string {
	for i, d := range a.Disks() {
		text = regexp.MustCompile(`\b`+d.Name+`([0-9]*)\b`).ReplaceAllString(text, fmt.Sprintf("DISK%d-$1", i))
	}
	return regexp.MustCompile(`(DISK[0-9]+)-(\D)`).ReplaceAllString(text, "$1$2")
}

// tree writes what is in a file system, as it is mounted read-only.
func tree(ctx context.Context, b *strings.Builder, a *disk.Appliance, f disk.Filesystem) error {
	m := disk.MountSpec{Device: f.Device, At: "/", ReadOnly: true}
	if f.Type == "btrfs" {
		m.Options = "subvol=/" + f.Subvolume
	}
	if err := a.MountWith(ctx, m); err != nil {
		return err
	}
	var lines []string
	err := a.Walk(ctx, "/", disk.FindOptions{SameFilesystem: true}, func(i disk.Info) error {
		line := fmt.Sprintf("  %v %s", i.Mode, i.Path)
		switch {
		case i.Target != "":
			line += " -> " + i.Target
		case i.Mode.IsRegular() && i.Size < 100:
			text, err := a.ReadFile(ctx, i.Path, 100)
			if err != nil {
				return err
			}
			line += fmt.Sprintf(" %q", text)
		}
		lines = append(lines, line)
		return nil
	})
	slices.Sort(lines)
	for _, line := range lines {
		b.WriteString(line + "\n")
	}
	return errors.Join(err, a.Unmount(ctx, "/"))
}

// TestEveryLayoutIsSeenWhole makes images as people have them, and compares everything that is seen of them. With TAPROOM_UPDATE=1 it writes
// down what it sees.
func TestEveryLayoutIsSeenWhole(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("testdata/layouts/*.txtar")
	if err != nil || len(files) == 0 {
		t.Fatalf("%d layouts, %v", len(files), err)
	}
	for _, path := range files {
		l := readLayout(t, path)
		if !l.brief && os.Getenv("TAPROOM_APPLIANCE") == "" {
			continue
		}
		t.Run(strings.TrimSuffix(filepath.Base(path), ".txtar"), func(t *testing.T) {
			if os.Getenv("TAPROOM_APPLIANCE") == "" { // else one after the other: each wants hundreds of MiB
				t.Parallel()
			}
			image := disktest.Make(t, l.part("make.sh"))
			if script := l.part("inside.sh"); script != "" {
				l.within(t, image, script)
			}
			a := l.open(t, image, disk.Discard)
			got, err := l.seen(t.Context(), a)
			if err != nil {
				t.Fatal(err)
			}
			if want := l.part("want"); got != want && os.Getenv("TAPROOM_UPDATE") != "" {
				l.update(t, got)
			} else if got != want {
				t.Errorf("(-want +got):\n%s", cmp.Diff(want, got))
			}
		})
	}
}

// within runs a script in an appliance that may write to the images.
func (l layout) within(t *testing.T, image, script string) {
	t.Helper()
	a := l.open(t, image, disk.Write)
	var said bytes.Buffer
	var env []string
	for i, d := range a.Disks() {
		env = append(env, fmt.Sprintf("DISK%d=/dev/%s", i, d.Name))
	}
	err := a.Run(t.Context(), disk.Command{Args: []string{"bash", "-euc", script}, Env: env, Stdout: &said, Stderr: &said})
	if err := errors.Join(err, a.Close(t.Context())); err != nil {
		t.Fatalf("%v\n%s", err, said.String())
	}
}

func (l layout) update(t *testing.T, got string) {
	t.Helper()
	l.parts.Files = slices.DeleteFunc(l.parts.Files, func(f txtar.File) bool { return f.Name == "want" })
	l.parts.Files = append(l.parts.Files, txtar.File{Name: "want", Data: []byte(got)})
	if err := os.WriteFile(l.path, txtar.Format(l.parts), 0o644); err != nil {
		t.Fatal(err)
	}
}
