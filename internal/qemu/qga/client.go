package qga

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"os"
	"strings"
	"time"
	"unicode/utf8"
)

const (
	// MaxAnswer is how long an answer may be, as for libvirt: a file that is read comes in one.
	MaxAnswer = 10 << 20
	// maxStale is how much may lie in the channel from before.
	maxStale = 2 * MaxAnswer
	// maxQuote is how much of the agent's own words an error repeats.
	maxQuote = 1024
	// sentinel begins an answer to guest-sync-delimited, and never occurs in UTF-8.
	sentinel = 0xff
)

// Client is one conversation with an agent. It is not safe for concurrent use: the port carries one command at a time.
type Client struct {
	// Within is how long the agent may take to answer each command; 0 is as long as the context says.
	Within time.Duration

	conn net.Conn
	r    *bufio.Reader
}

// New begins a conversation over the host's end of an agent's channel, which the caller closes. Sync comes first.
func New(conn net.Conn) *Client {
	return &Client{conn: conn, r: bufio.NewReaderSize(conn, 4096)}
}

// Sync waits until the agent answers, and drops what it had still to say to somebody else. It fails with ErrUnsynced when
// ctx ends first.
func (c *Client) Sync(ctx context.Context) error {
	id := rand.Int64N(1 << 52) // exact in every JSON parser
	line := fmt.Appendf([]byte{sentinel}, `{"execute":"guest-sync-delimited","arguments":{"id":%d}}`+"\n", id)
	err := c.within(ctx, func() error {
		if _, err := c.conn.Write(line); err != nil {
			return err
		}
		for stale := 0; ; {
			n, err := c.skip(maxStale - stale)
			if err != nil {
				return err
			}
			stale += n
			text, err := c.line()
			if err != nil {
				return err
			}
			stale += len(text)
			var answer struct {
				Return *int64 `json:"return"`
			}
			if json.Unmarshal(text, &answer) == nil && answer.Return != nil && *answer.Return == id {
				return nil
			}
		}
	})
	if errors.Is(err, os.ErrDeadlineExceeded) {
		return fmt.Errorf("%w: %w", ErrUnsynced, context.Cause(ctx))
	}
	return err
}

// skip reads up to and including the next sentinel, at most so many bytes.
func (c *Client) skip(most int) (n int, err error) {
	for n = 1; n <= most; n++ {
		b, err := c.r.ReadByte()
		if err != nil {
			return n, err
		}
		if b == sentinel {
			return n, nil
		}
	}
	return n, fmt.Errorf("%w: %d bytes without an answer to guest-sync-delimited", ErrNonsense, maxStale)
}

// line reads to the end of a line. A sentinel within it begins it anew: it answers an older question.
func (c *Client) line() ([]byte, error) {
	var text []byte
	for {
		part, err := c.r.ReadSlice('\n')
		if i := bytes.LastIndexByte(part, sentinel); i >= 0 {
			text, part = text[:0], part[i+1:]
		}
		text = append(text, part...)
		switch {
		case len(text) > MaxAnswer:
			return nil, fmt.Errorf("%w: an answer of more than %d bytes", ErrNonsense, MaxAnswer)
		case err == nil:
			return text, nil
		case !errors.Is(err, bufio.ErrBufferFull):
			return nil, err
		}
	}
}

// Execute has the agent carry out a command and stores what it returns in reply (a pointer, or nil to drop it). It fails
// with *Error when the agent refuses, and with ErrTimeout when ctx ends first; then another conversation has to begin.
func (c *Client) Execute(ctx context.Context, command string, args, reply any) error {
	request, err := json.Marshal(struct {
		Execute   string `json:"execute"`
		Arguments any    `json:"arguments,omitempty"`
	}{command, args})
	if err != nil {
		return fmt.Errorf("encode the arguments of %s: %w", command, err)
	}
	ret, err := c.Raw(ctx, command, request)
	if err != nil || reply == nil {
		return err
	}
	if err := json.Unmarshal(ret, reply); err != nil {
		return fmt.Errorf("%w: %s returns %s: %w", ErrNonsense, command, quote(ret), err)
	}
	return nil
}

// Raw is Execute for a whole request; command is what to call it. It returns what the agent returned.
func (c *Client) Raw(ctx context.Context, command string, request []byte) (json.RawMessage, error) {
	if c.Within > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, c.Within)
		defer cancel()
	}
	var text []byte
	err := c.within(ctx, func() (err error) {
		if err = c.send(request); err == nil {
			text, err = c.line()
		}
		return err
	})
	switch {
	case errors.Is(err, os.ErrDeadlineExceeded):
		return nil, fmt.Errorf("%w: %s: %w", ErrTimeout, command, context.Cause(ctx))
	case err != nil:
		return nil, err
	}
	return answerTo(command, text)
}

// Send sends a request and waits for nothing.
func (c *Client) Send(ctx context.Context, request []byte) error {
	return c.within(ctx, func() error { return c.send(request) })
}

func (c *Client) send(request []byte) error {
	var line bytes.Buffer
	if err := json.Compact(&line, request); err != nil { // one line
		return err
	}
	line.WriteByte('\n')
	_, err := c.conn.Write(line.Bytes())
	return err
}

// answerTo reads one answer.
func answerTo(command string, text []byte) (json.RawMessage, error) {
	var answer struct {
		Return json.RawMessage `json:"return"`
		Error  *struct {
			Class string `json:"class"`
			Desc  string `json:"desc"`
		} `json:"error"`
	}
	err := json.Unmarshal(text, &answer)
	switch {
	case err != nil:
		return nil, fmt.Errorf("%w: %s is answered with %s: %w", ErrNonsense, command, quote(text), err)
	case answer.Error != nil:
		return nil, &Error{Class: printable(answer.Error.Class), Desc: printable(answer.Error.Desc), Command: command}
	case answer.Return == nil:
		return nil, fmt.Errorf("%w: %s is answered with %s", ErrNonsense, command, quote(text))
	}
	return answer.Return, nil
}

// within runs f, whose reads and writes fail when ctx ends.
func (c *Client) within(ctx context.Context, f func() error) error {
	if err := c.conn.SetDeadline(time.Time{}); err != nil {
		return sortOut(err)
	}
	ended := make(chan struct{})
	stop := context.AfterFunc(ctx, func() {
		_ = c.conn.SetDeadline(time.Unix(1, 0))
		close(ended)
	})
	err := f()
	if !stop() {
		<-ended
	}
	return sortOut(err)
}

// sortOut turns the errors of a dead connection into ours.
func sortOut(err error) error {
	var op *net.OpError
	if errors.Is(err, io.EOF) || errors.Is(err, net.ErrClosed) || errors.Is(err, io.ErrClosedPipe) ||
		errors.As(err, &op) && !op.Timeout() {
		return fmt.Errorf("%w (%w)", ErrClosed, err)
	}
	return err
}

// printable is what a guest said, fit for an error: short, and without what a terminal obeys.
func printable(s string) string {
	if len(s) > maxQuote {
		s = s[:maxQuote] + "…"
	}
	return strings.Map(func(r rune) rune {
		if r < ' ' && r != '\n' && r != '\t' || r == 0x7f || r == utf8.RuneError {
			return '?'
		}
		return r
	}, s)
}

// quote shows the beginning of what came.
func quote(text []byte) string {
	const most = 80
	text = bytes.TrimSpace(text)
	if len(text) > most {
		return fmt.Sprintf("%q…", text[:most])
	}
	return fmt.Sprintf("%q", text)
}
