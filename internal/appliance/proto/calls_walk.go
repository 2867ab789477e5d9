package proto

import (
	"context"
	"fmt"
	"io"
	"strings"
)

// Walk calls each for everything below a folder, as it comes: what is in a folder after the folder. Symbolic links are not followed. No path
// leads out of the folder where the walk began.
func (c *Client) Walk(ctx context.Context, m Walk, each func(Step) error) error {
	return c.stream(ctx, request{op: OpWalk, what: m.Path, args: &m}, func(r io.Reader) error { return readSteps(r, each) })
}

// readSteps reads what a walk has come by.
func readSteps(r io.Reader, each func(Step) error) error {
	return readMessages(r, func(payload []byte) error {
		var s Step
		if err := Decode(payload, &s); err != nil {
			return &lieError{err}
		}
		if len(s.Path) > maxName || len(s.Target) > maxTarget {
			return &lieError{fmt.Errorf("a path of %d bytes, a link of %d: %w", len(s.Path), len(s.Target), ErrMessage)}
		}
		for name := range strings.SplitSeq(s.Path, "/") {
			if !isName(name) && (s.Path != "" || s.Problem == 0) { // the folder where it began has a problem, too
				return &lieError{fmt.Errorf("%q is no path below a folder: %w", s.Path, ErrMessage)}
			}
		}
		return each(s)
	})
}

// AppendStep appends s as Walk sends it.
func AppendStep(b []byte, s *Step) ([]byte, error) { return appendMessage(b, s) }

// Glance looks into the file system of a device without mounting it in the tree. Nothing is written to it, no journal is replayed.
func (c *Client) Glance(ctx context.Context, m Glance) (Glanced, error) {
	var g Glanced
	err := c.do(ctx, request{op: OpGlance, what: m.Device, args: &m, result: &g})
	return g, err
}

// Resize says how large a program's terminal has become.
func (c *Client) Resize(ctx context.Context, s TerminalSize) error {
	return c.do(ctx, request{op: OpResize, args: &s})
}

// Trim tells the disk which blocks of what is mounted at a path are not in use, and returns how many bytes that were.
func (c *Client) Trim(ctx context.Context, at string) (int64, error) {
	var n Count
	err := c.do(ctx, request{op: OpTrim, what: at, args: &Path{Path: at, Follow: true}, result: &n})
	return n.Bytes, err
}

// Reread has the kernel look again how large a disk is and which partitions it has. None of them may be in use.
func (c *Client) Reread(ctx context.Context, device string) error {
	return c.do(ctx, request{op: OpReread, what: device, args: &Text{Text: device}})
}
