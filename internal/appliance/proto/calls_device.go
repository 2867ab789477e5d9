package proto

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync/atomic"
)

// Devices lists the appliance's block devices.
func (c *Client) Devices(ctx context.Context, p Probe) ([]Device, error) {
	var d Devices
	err := c.do(ctx, request{op: OpDevices, args: &p, result: &d})
	return d.List, err
}

// Await returns the disk with a serial number when the appliance's kernel has found it.
func (c *Client) Await(ctx context.Context, serial string) (Device, error) {
	var d Device
	err := c.do(ctx, request{op: OpAwait, what: "disk " + serial, args: &Await{serial}, result: &d})
	return d, err
}

// Release has the appliance's kernel let go of the disk with a serial number, which is about to be unplugged, and returns when that is done.
// Nothing of it may be mounted.
func (c *Client) Release(ctx context.Context, serial string) error {
	return c.do(ctx, request{op: OpRelease, what: "disk " + serial, args: &Await{serial}})
}

// CopyIn copies what a raw disk holds into a file of the appliance's tree, which is made or replaced: many times as fast as Write,
// which goes through the port. The disk is one that was plugged in for it. Progress may be nil.
func (c *Client) CopyIn(ctx context.Context, m Copy, progress func(Progress)) error {
	return c.do(ctx, request{op: OpCopyIn, what: m.Device + " to " + m.Path, args: &m, progress: progress})
}

// CopyOut copies a regular file of the appliance's tree to a raw disk, and returns the file's size in bytes: what the disk holds
// beyond that is of no meaning. The disk is one that was plugged in for it, at least as large as the file rounded
// up to 4096 bytes; m.Size and m.Mode are of no importance. Progress may be nil.
func (c *Client) CopyOut(ctx context.Context, m Copy, progress func(Progress)) (int64, error) {
	var n Count
	err := c.do(ctx, request{op: OpCopyOut, what: m.Path + " to " + m.Device, args: &m, result: &n, progress: progress})
	return n.Bytes, err
}

// ErrOutput says that a program printed more than it was allowed to.
var ErrOutput = errors.New("the program prints more than was asked for")

// Command is a program to run, and what it reads and writes. What is nil is empty, or thrown away.
type Command struct {
	Run
	Stdin          io.Reader
	Stdout, Stderr io.Writer
	MaxOutput      int64 // bytes of both together, beyond which it is killed; 0: as much as it likes
}

// Run runs a program of the tools, and returns how it ended. A program that fails is no error. It is killed, with what it has
// started, when ctx ends.
func (c *Client) Run(ctx context.Context, m Command) (Exit, error) {
	var left atomic.Int64
	left.Store(m.MaxOutput)
	limit := func(w io.Writer) io.Writer {
		if w == nil {
			w = io.Discard
		}
		if m.MaxOutput == 0 {
			return w
		}
		return &limited{w, &left}
	}
	if m.Stdin == nil {
		m.Stdin = strings.NewReader("")
	}
	var e Exit
	err := c.do(ctx, request{
		op: OpRun, what: fmt.Sprintf("%q", m.Args), args: &m.Run, result: &e, in: m.Stdin, out: limit(m.Stdout), err: limit(m.Stderr),
	})
	return e, err
}

// limited is a writer that takes no more than what is left for several.
type limited struct {
	w    io.Writer
	left *atomic.Int64
}

func (l *limited) Write(b []byte) (int, error) {
	if l.left.Add(-int64(len(b))) < 0 {
		return 0, ErrOutput
	}
	return l.w.Write(b)
}
