package proto

import (
	"context"
	"fmt"
	"io"
)

// Read writes to w what is in a regular file. Bytes that w took before an error are not taken back. w gets no more than r.Length
// bytes, whatever the guest sends; where that is negative it is w that has to know when to stop.
func (c *Client) Read(ctx context.Context, r Read, w io.Writer) error {
	if r.Length >= 0 {
		w = &asked{w, r.Length}
	}
	return c.unlessLie(c.do(ctx, request{op: OpRead, what: r.Path, args: &r, out: w}))
}

// asked is a writer of so many bytes as were asked for. More is a lie.
type asked struct {
	w    io.Writer
	left int64
}

func (a *asked) Write(b []byte) (int, error) {
	if a.left -= int64(len(b)); a.left < 0 {
		return 0, &lieError{fmt.Errorf("more of a file than was asked for: %w", ErrMessage)}
	}
	return a.w.Write(b)
}

// Write writes to a regular file what r holds, and returns how many bytes that was. After an error, the file may hold
// a part of it.
func (c *Client) Write(ctx context.Context, w Write, r io.Reader) (int64, error) {
	var n Count
	err := c.do(ctx, request{op: OpWrite, what: w.Path, args: &w, result: &n, in: r})
	return n.Bytes, err
}

// Mkdir makes a folder.
func (c *Client) Mkdir(ctx context.Context, m Make) error {
	return c.do(ctx, request{op: OpMkdir, what: m.Path, args: &m})
}

// Remove removes a name, or everything below it.
func (c *Client) Remove(ctx context.Context, r Remove) error {
	return c.do(ctx, request{op: OpRemove, what: r.Path, args: &r})
}

// Rename gives a file another name. One that has it already is replaced.
func (c *Client) Rename(ctx context.Context, from, to string) error {
	return c.do(ctx, request{op: OpRename, what: from + " to " + to, args: &Pair{from, to}})
}

// Symlink makes a symbolic link that says target.
func (c *Client) Symlink(ctx context.Context, target, path string) error {
	return c.do(ctx, request{op: OpSymlink, what: path, args: &Pair{target, path}})
}

// Link gives a file one more name. A symbolic link is not followed.
func (c *Client) Link(ctx context.Context, path, more string) error {
	return c.do(ctx, request{op: OpLink, what: path + " as " + more, args: &Pair{path, more}})
}

// Readlink returns what a symbolic link says.
func (c *Client) Readlink(ctx context.Context, path string) (string, error) {
	var t Text
	err := c.do(ctx, request{op: OpReadlink, what: path, args: &Path{Path: path}, result: &t})
	return t.Text, err
}

// Chmod sets a file's permissions.
func (c *Client) Chmod(ctx context.Context, m Chmod) error {
	return c.do(ctx, request{op: OpChmod, what: m.Path, args: &m})
}

// Chown sets whose a file is.
func (c *Client) Chown(ctx context.Context, m Chown) error {
	return c.do(ctx, request{op: OpChown, what: m.Path, args: &m})
}

// Truncate sets a file's size, in bytes.
func (c *Client) Truncate(ctx context.Context, path string, size int64) error {
	return c.do(ctx, request{op: OpTruncate, what: path, args: &Truncate{path, size}})
}

// SetTimes sets when a file was read and changed.
func (c *Client) SetTimes(ctx context.Context, m Times) error {
	return c.do(ctx, request{op: OpSetTimes, what: m.Path, args: &m})
}

// ListXattr returns the names of a file's extended attributes.
func (c *Client) ListXattr(ctx context.Context, p Path) ([]string, error) {
	var n Names
	err := c.do(ctx, request{op: OpListXattr, what: p.Path, args: &p, result: &n})
	return n.List, err
}

// GetXattr returns an extended attribute of a file. The value that is asked with is of no importance.
func (c *Client) GetXattr(ctx context.Context, x Xattr) ([]byte, error) {
	var v Value
	x.Value = nil
	err := c.do(ctx, request{op: OpGetXattr, what: x.Name + " of " + x.Path, args: &x, result: &v})
	return v.Value, err
}

// SetXattr sets an extended attribute of a file.
func (c *Client) SetXattr(ctx context.Context, x Xattr) error {
	return c.do(ctx, request{op: OpSetXattr, what: x.Name + " of " + x.Path, args: &x})
}

// RemoveXattr removes an extended attribute of a file.
func (c *Client) RemoveXattr(ctx context.Context, x Xattr) error {
	x.Value = nil
	return c.do(ctx, request{op: OpRemoveXattr, what: x.Name + " of " + x.Path, args: &x})
}

// Sync returns when everything that was written before is on the disks.
func (c *Client) Sync(ctx context.Context) error { return c.do(ctx, request{op: OpSync}) }
