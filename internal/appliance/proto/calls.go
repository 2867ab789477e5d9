package proto

import (
	"bufio"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"strings"
)

// Ping returns when the appliance answers. It makes nothing of the appliance's own: a template may be frozen after it.
func (c *Client) Ping(ctx context.Context) error { return c.do(ctx, request{op: OpPing}) }

// Hello makes the appliance one of its own kind, and returns what it says of itself.
func (c *Client) Hello(ctx context.Context, g Greeting) (Info, error) {
	var i Info
	err := c.do(ctx, request{op: OpHello, args: &g, result: &i})
	return i, err
}

// Shutdown unmounts everything and has the machine reset. When it returns without an error, all that was written is on the
// disks, and QEMU may be ended at once.
func (c *Client) Shutdown(ctx context.Context) error { return c.do(ctx, request{op: OpShutdown}) }

// Mount mounts a file system in the appliance's tree.
func (c *Client) Mount(ctx context.Context, m Mount) (Mounted, error) {
	var r Mounted
	err := c.do(ctx, request{op: OpMount, what: m.Device + " at " + m.At, args: &m, result: &r})
	return r, err
}

// Unmount unmounts what is mounted at a path, and returns when all of it is on the disk.
func (c *Client) Unmount(ctx context.Context, at string) error {
	return c.do(ctx, request{op: OpUnmount, what: at, args: &Path{Path: at}})
}

// Mounts lists what is mounted in the appliance's tree.
func (c *Client) Mounts(ctx context.Context) ([]Mounted, error) {
	var m Mounts
	err := c.do(ctx, request{op: OpMounts, result: &m})
	return m.List, err
}

// Stat describes a file.
func (c *Client) Stat(ctx context.Context, p Path) (Stat, error) {
	var s Stat
	err := c.do(ctx, request{op: OpStat, what: p.Path, args: &p, result: &s})
	return s, err
}

// Statfs tells how full the file system is that a path lies on.
func (c *Client) Statfs(ctx context.Context, path string) (Statfs, error) {
	var s Statfs
	err := c.do(ctx, request{op: OpStatfs, what: path, args: &Path{Path: path, Follow: true}, result: &s})
	return s, err
}

// What List keeps in memory is bounded by the number of entries and by the bytes of their names and of what links say.
const (
	maxEntries = 1 << 20
	maxTexts   = 64 << 20
)

// List returns what is in a folder, in no order.
func (c *Client) List(ctx context.Context, path string) ([]Entry, error) {
	var all []Entry
	texts := 0
	err := c.EachEntry(ctx, path, func(e Entry) error {
		texts += len(e.Name) + len(e.Target)
		if len(all) == maxEntries || texts > maxTexts {
			return fmt.Errorf("%s has more than %d entries, or %d bytes of names; go through them one by one", path, maxEntries, maxTexts)
		}
		all = append(all, e)
		return nil
	})
	return all, err
}

// EachEntry calls each for everything in a folder, in no order, as it comes. Names are names: none is empty, has a slash, or
// is "." or "..".
func (c *Client) EachEntry(ctx context.Context, path string, each func(Entry) error) error {
	return c.stream(ctx, request{op: OpList, what: path, args: &Path{Path: path, Follow: true}}, func(r io.Reader) error {
		return readEntries(r, each)
	})
}

// stream makes a request and has what the guest sends meanwhile read as it comes.
func (c *Client) stream(ctx context.Context, q request, read func(io.Reader) error) error {
	r, w := io.Pipe()
	done := make(chan error, 1)
	go func() {
		err := read(r)
		_ = r.CloseWithError(err)
		done <- err
	}()
	q.out = w
	err := c.do(ctx, q)
	_ = w.CloseWithError(err) // nil: the end
	if readErr := <-done; err == nil {
		err = readErr
	}
	return c.unlessLie(err)
}

// unlessLie breaks the connection to a guest that sent what it never should, and returns err in any case.
func (c *Client) unlessLie(err error) error {
	var lie *lieError
	if errors.As(err, &lie) {
		c.fail(lie)
	}
	return err
}

// lieError says that the guest sent what it never should.
type lieError struct{ err error }

func (e *lieError) Error() string {
	return "the appliance does not keep to the protocol: " + e.err.Error()
}
func (e *lieError) Unwrap() error { return e.err }

// Linux's limits, in bytes. A name may be longer than NAME_MAX, which counts the file system's own characters: 255 of UTF-16
// on vfat, exfat and NTFS are up to 765 bytes of UTF-8. No path that has the name in it is longer than PATH_MAX.
const (
	maxName   = 4095
	maxTarget = 4095
)

// readEntries reads a list of entries: the length of each and its message.
func readEntries(r io.Reader, each func(Entry) error) error {
	return readMessages(r, func(payload []byte) error {
		var e Entry
		if err := Decode(payload, &e); err != nil {
			return &lieError{err}
		}
		if !isName(e.Name) {
			return &lieError{fmt.Errorf("%q is no name of a file: %w", e.Name, ErrMessage)}
		}
		if len(e.Name) > maxName || len(e.Target) > maxTarget {
			return &lieError{fmt.Errorf("a name of %d bytes, a link of %d: %w", len(e.Name), len(e.Target), ErrMessage)}
		}
		return each(e)
	})
}

// isName reports whether a file may be called so in its folder.
func isName(name string) bool {
	return name != "" && name != "." && name != ".." && !strings.ContainsAny(name, "/\x00")
}

// readMessages reads messages, each with its length before it, to the end.
func readMessages(r io.Reader, each func([]byte) error) error {
	b := bufio.NewReader(r)
	for {
		var size [4]byte
		if _, err := io.ReadFull(b, size[:]); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return &lieError{err}
		}
		n := binary.LittleEndian.Uint32(size[:])
		if n > MaxPayload {
			return &lieError{fmt.Errorf("entry of %d bytes: %w", n, ErrMessage)}
		}
		payload := make([]byte, n)
		if _, err := io.ReadFull(b, payload); err != nil {
			return &lieError{err}
		}
		if err := each(payload); err != nil {
			return err
		}
	}
}

// AppendEntry appends e as List sends it.
func AppendEntry(b []byte, e *Entry) ([]byte, error) { return appendMessage(b, e) }

func appendMessage(b []byte, m Message) ([]byte, error) {
	p, err := Encode(m)
	if err != nil {
		return b, err
	}
	b = binary.LittleEndian.AppendUint32(b, uint32(len(p)))
	return append(b, p...), nil
}
