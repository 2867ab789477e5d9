package disk

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"path"
	"strings"
	"syscall"

	"taproom/internal/appliance/proto"
)

// Progress is told how far something is: bytes, and how many there are in all; total is 0 where nobody knows. It is called by one
// goroutine at a time and should not take long.
type Progress func(done, total int64)

// ErrNoTools says that the appliance has no disk of tools, which taproom appliance build makes.
var ErrNoTools = errors.New("the appliance has no tools; make them with taproom appliance build")

// counted is a reader and writer that tells of what goes through it.
type counted struct {
	r    io.Reader
	w    io.Writer
	done int64
	all  int64
	tell Progress
}

func (c *counted) count(n int) {
	c.done += int64(n)
	if c.tell != nil && n > 0 {
		c.tell(c.done, c.all)
	}
}

// Read implements io.Reader.
func (c *counted) Read(b []byte) (int, error) {
	n, err := c.r.Read(b)
	c.count(n)
	return n, err
}

// Write implements io.Writer.
func (c *counted) Write(b []byte) (int, error) {
	n, err := c.w.Write(b)
	c.count(n)
	return n, err
}

// tool runs a program of the tools in a folder of the tree. What it says of its failure is in the error.
func (a *Appliance) tool(ctx context.Context, tree string, in io.Reader, out io.Writer, args ...string) error {
	var said limitedBuffer
	e, err := a.a.Agent().Run(ctx, proto.Command{Run: proto.Run{Args: args, Tree: tree}, Stdin: in, Stdout: out, Stderr: &said})
	return toolError(args[0], e, err, said.String())
}

// toolError says how a program ended.
func toolError(program string, e proto.Exit, err error, said string) error {
	if errors.Is(err, syscall.ENODEV) {
		return errors.Join(ErrNoTools, err)
	}
	if err != nil || e == (proto.Exit{}) {
		return err
	}
	failed := &ExitError{Program: program, Status: int(e.Status), Signal: syscall.Signal(e.Signal)}
	if said = strings.TrimSpace(said); said != "" {
		return fmt.Errorf("%w: %s", failed, said)
	}
	return failed
}

// limitedBuffer keeps the beginning of what a program says.
type limitedBuffer struct{ b bytes.Buffer }

// Write implements io.Writer.
func (l *limitedBuffer) Write(b []byte) (int, error) {
	const most = 16 << 10
	l.b.Write(b[:max(min(len(b), most-l.b.Len()), 0)])
	return len(b), nil
}

// String is what was kept, as text that a terminal can be shown.
func (l *limitedBuffer) String() string {
	return strings.Map(func(r rune) rune {
		if r < ' ' && r != '\n' && r != '\t' || r == 0x7f || r >= 0x80 && r < 0xa0 {
			return '?'
		}
		return r
	}, l.b.String())
}

// tarOptions keep every attribute that tar knows of. XFS shows access control lists a second time, as trusted.SGI_ACL_FILE and _DEFAULT.
func tarOptions() []string {
	return []string{"--xattrs", "--xattrs-include=*", "--xattrs-exclude=system.posix_acl_*", "--xattrs-exclude=trusted.SGI_ACL_*", "--acls", "--numeric-owner"}
}

// TarOut writes a folder, with all below it, or a single file to w as a tar archive in the format of POSIX: with owners as numbers, extended
// attributes, access control lists, capabilities, hard links, device nodes, and holes. Paths begin with "./" and are in order, and nothing depends on
// when or where the archive is made: the same tree gives the same bytes, but for the order of a
// file's attributes, which is the file system's. What is mounted below is included. It takes the tools. Sockets, which tar has no kind for, are left out.
func (a *Appliance) TarOut(ctx context.Context, at string, w io.Writer, p Progress) error {
	i, err := a.Stat(ctx, at, false)
	if err != nil {
		return err
	}
	dir, what := at, "."
	if !i.Mode.IsDir() {
		dir, what = path.Dir(i.Path), "./"+i.Name
	}
	args := append([]string{
		"tar", "--create", "--file=-", "--format=posix", "--sparse", "--sort=name", "--warning=no-file-ignored",
		"--pax-option=exthdr.name=%d/PaxHeaders/%f,delete=atime,delete=ctime",
	}, tarOptions()...)
	if err := a.tool(ctx, dir, nil, &counted{w: w, tell: p}, append(args, "--", what)...); err != nil {
		return fmt.Errorf("write %s to an archive: %w", at, err)
	}
	return nil
}

// TarIn unpacks a tar archive into a folder, which must be there. What is in the way is replaced, but for folders, which get the archive's
// attributes. Everything that TarOut keeps is set, of any owner. Members that name what lies outside of the folder, by ".." or by a symbolic
// link, are an error. It takes the tools. Compressed archives are not recognized: decompress them on the way.
func (a *Appliance) TarIn(ctx context.Context, at string, r io.Reader, p Progress) error {
	args := append([]string{"tar", "--extract", "--file=-", "--preserve-permissions", "--same-owner", "--delay-directory-restore"}, tarOptions()...)
	if err := a.tool(ctx, at, &counted{r: r, tell: p}, nil, args...); err != nil {
		return fmt.Errorf("unpack an archive to %s: %w", at, err)
	}
	return a.Sync(ctx)
}

// Copy copies a folder with all below it, or a single file, from one appliance's tree into a folder of another's, with everything that tar
// keeps. Each image is opened in a machine of its own, and what goes from one to the other is an archive.
func Copy(ctx context.Context, from *Appliance, source string, to *Appliance, target string, p Progress) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	r, w := io.Pipe()
	done := make(chan error, 1)
	go func() {
		err := from.TarOut(ctx, source, w, p)
		_ = w.CloseWithError(err)
		done <- err
	}()
	err := to.TarIn(ctx, target, r, nil)
	if err != nil {
		cancel(err)
	}
	_, _ = io.Copy(io.Discard, r) // tar may end before the padding of the archive does
	outErr := <-done
	switch {
	case outErr == nil || errors.Is(outErr, err): // each ends because of the other
		return err
	case errors.Is(err, outErr):
		return outErr
	}
	return errors.Join(outErr, err)
}
