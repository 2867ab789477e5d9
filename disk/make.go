package disk

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"taproom/internal/appliance/launch"
	"taproom/internal/appliance/replica"
)

// MakeSpec says which image Make makes.
type MakeSpec struct {
	// Launch says how the appliance is launched that makes the file system. Its Images are not used.
	Launch Spec
	Path   string // of the image, which must be free
	Format string // "raw", the default, or "qcow2"
	Table  string // partition table: "gpt", "mbr", or "" for a file system on the whole disk
	Type   string // of the file system: "ext4", the default, "xfs", "btrfs" or "vfat"
	Label  string // of the file system
	// Size is that of the image in bytes; 0: as the content needs, and Free.
	Size, Free int64
	// Dir is a folder of the host whose content is put into the file system, as far as the caller may read it. Archive is a tar archive instead, not
	// compressed. Where both are missing the file system is empty.
	Dir      string
	Archive  *os.File
	Progress Progress
}

// Made is an image that was made.
type Made struct {
	Size   int64 // bytes
	Device string
	Files  int64 // in the archive or folder
}

// tries is how often Make begins with a larger image when the content does not fit into an image of the size that it has estimated.
const tries = 4

// Make makes an image of a folder or an archive, with everything that tar keeps: owners, permissions, times, extended attributes, access control
// lists, capabilities, hard links, device nodes, holes. vfat keeps names, content and times alone, and a symbolic link or device node is an
// error there. The image gets its name when it is whole and on the host's disk; before that, nothing is left of it. The caller alone may read it. It takes the tools, and the
// host's tar for a folder.
func Make(ctx context.Context, s MakeSpec) (Made, error) {
	if err := s.complete(); err != nil {
		return Made{}, err
	}
	c, err := s.measure(ctx)
	if err != nil {
		return Made{}, err
	}
	size := s.Size
	if size == 0 {
		size = c.imageSize(s)
	}
	for try := 1; ; try++ {
		m, err := s.try(ctx, size, c)
		full := err != nil && (strings.Contains(err.Error(), "No space left on device") || strings.Contains(err.Error(), "Wrote only")) // of tar
		switch {
		case full && s.Size != 0:
			return m, fmt.Errorf("%w; the content does not fit: take a larger size, or none", err)
		case !full || try == tries || ctx.Err() != nil:
			return m, err
		}
		const mib = 1 << 20
		size = (size*3/2 + mib - 1) / mib * mib
	}
}

// complete fills in defaults, and refuses the impossible.
func (s *MakeSpec) complete() error {
	for _, c := range []struct {
		value   *string
		what    string
		allowed []string // the default first
	}{
		{&s.Format, "format", []string{"raw", "qcow2"}},
		{&s.Type, "file system", []string{"ext4", "xfs", "btrfs", "vfat"}},
		{&s.Table, "partition table", []string{"", "gpt", "mbr"}},
	} {
		if *c.value == "" {
			*c.value = c.allowed[0]
		}
		known := false
		for _, a := range c.allowed {
			known = known || a == *c.value
		}
		if !known {
			return fmt.Errorf("make %s: %s %q is not made; take %s", s.Path, c.what, *c.value, strings.TrimPrefix(strings.Join(c.allowed, ", "), ", "))
		}
	}
	if s.Dir != "" && s.Archive != nil {
		return fmt.Errorf("make %s: its content is a folder or an archive, not both", s.Path)
	}
	if s.Size < 0 || s.Free < 0 || s.Size%512 != 0 {
		return fmt.Errorf("make %s: a size of %d bytes, %d free: the size is a multiple of 512, 0 by content", s.Path, s.Size, s.Free)
	}
	if s.Launch.Memory == 0 {
		s.Launch.Memory = 384 // MiB: mkfs.xfs and mkfs.btrfs take more than mounting does
	}
	return nil
}

// try makes the image with a size.
func (s MakeSpec) try(ctx context.Context, size int64, c content) (m Made, err error) {
	f, err := replica.Create(s.Path)
	if err != nil {
		return m, err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	if err := launch.WriteEmpty(f.File(), s.Format, uint64(size)); err != nil {
		return m, fmt.Errorf("make %s: %w", s.Path, err)
	}
	spec := s.Launch
	spec.Images = []Image{{Path: filepath.Dir(s.Path), Format: s.Format, Access: Scratch, made: f.Path()}}
	a, err := Launch(ctx, spec)
	if err != nil {
		return m, fmt.Errorf("make %s: %w", s.Path, err)
	}
	m = Made{Size: size, Files: c.files}
	m.Device, err = s.fill(ctx, a, c)
	if err == nil {
		err = ctx.Err() // the image gets no name after an interrupt
	}
	if err = errors.Join(err, a.Close(context.WithoutCancel(ctx))); err != nil {
		return m, fmt.Errorf("make %s of %d bytes: %w", s.Path, size, err)
	}
	return m, f.Commit()
}

// fill makes partition and file system, and unpacks the content.
func (s MakeSpec) fill(ctx context.Context, a *Appliance, c content) (device string, err error) {
	device = a.Disks()[0].Name
	if s.Table != "" {
		script := map[string]string{"gpt": "label: gpt\ntype=linux\n", "mbr": "label: dos\ntype=83\n"}[s.Table]
		if s.Type == "vfat" {
			script = map[string]string{"gpt": "label: gpt\ntype=uefi\n", "mbr": "label: dos\ntype=c\n"}[s.Table]
		}
		if err := a.tool(ctx, "", strings.NewReader(script), nil, "sfdisk", "--quiet", "--no-tell-kernel", "/dev/"+device); err != nil {
			return device, err
		}
		if err := a.a.Agent().Reread(ctx, device); err != nil {
			return device, err
		}
		device += "1"
	}
	if err := a.tool(ctx, "", nil, nil, s.mkfs(device, c)...); err != nil {
		return device, err
	}
	if s.Dir == "" && s.Archive == nil {
		return device, nil
	}
	if err := a.Mount(ctx, device, "/", false); err != nil {
		return device, err
	}
	if err := s.unpack(ctx, a); err != nil {
		return device, err
	}
	return device, a.UnmountAll(ctx)
}

// mkfs is the program that makes the file system.
func (s MakeSpec) mkfs(device string, c content) []string {
	at := "/dev/" + device
	label := func(option string) []string {
		if s.Label == "" {
			return nil
		}
		return []string{option, s.Label}
	}
	switch s.Type {
	case "xfs":
		return append(append([]string{"mkfs.xfs", "-q", "-f"}, label("-L")...), at)
	case "btrfs":
		return append(append([]string{"mkfs.btrfs", "-q", "-f"}, label("-L")...), at)
	case "vfat":
		return append(append([]string{"mkfs.vfat"}, label("-n")...), at)
	}
	args := append([]string{"mkfs.ext4", "-q", "-F", "-b", "4096"}, label("-L")...)
	if s.Size == 0 {
		args = append(args, "-N", fmt.Sprint(c.inodes()))
	}
	return append(args, at)
}

// unpack puts the content into the mounted file system.
func (s MakeSpec) unpack(ctx context.Context, a *Appliance) error {
	into := func(r io.Reader) error {
		if s.Type == "vfat" {
			args := []string{"tar", "--extract", "--file=-", "--no-same-owner", "--no-same-permissions"}
			return errors.Join(a.tool(ctx, "/", &counted{r: r, tell: s.Progress}, nil, args...), a.Sync(ctx))
		}
		return a.TarIn(ctx, "/", r, s.Progress)
	}
	if s.Archive != nil {
		if _, err := s.Archive.Seek(0, io.SeekStart); err != nil {
			return err
		}
		return into(s.Archive)
	}
	args := append([]string{
		"--create", "--file=-", "--directory=" + s.Dir, "--format=posix", "--sparse", "--sort=name", "--warning=no-file-ignored",
		"--pax-option=exthdr.name=%d/PaxHeaders/%f,delete=atime,delete=ctime",
	}, tarOptions()...)
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	c := exec.CommandContext(ctx, "tar", append(args, "--", ".")...)
	c.Env = append(os.Environ(), "LC_ALL=C.UTF-8")
	var said bytes.Buffer
	c.Stderr = &said
	out, err := c.StdoutPipe()
	if err == nil {
		err = c.Start()
	}
	if err != nil {
		return fmt.Errorf("read %s with tar: %w", s.Dir, err)
	}
	intoErr := into(out)
	if intoErr != nil {
		cancel()
	}
	if err := c.Wait(); err != nil && intoErr == nil {
		return fmt.Errorf("read %s with tar: %w: %s", s.Dir, err, bytes.TrimSpace(said.Bytes()))
	}
	return intoErr
}
