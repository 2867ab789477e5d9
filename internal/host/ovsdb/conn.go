package ovsdb

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"time"

	"taproom/internal/host"
)

// Database is Open vSwitch's own.
const Database = "Open_vSwitch"

// Conn is a connection to a database server. It serves one goroutine at a time. After an error that is no *Error it is of
// no use any more.
type Conn struct {
	path   string
	conn   net.Conn
	in     *messages
	number int64
	held   []Tables // what changed while an answer was awaited
}

// Dial connects to a server's socket.
func Dial(ctx context.Context, k *host.Kernel, path string) (*Conn, error) {
	c, err := k.DialUnix(ctx, path)
	if err != nil {
		return nil, err
	}
	return &Conn{path: path, conn: c, in: newMessages(c)}, nil
}

// Close ends the connection, and with it what it watches.
func (c *Conn) Close() error { return c.conn.Close() }

// maxHeld bounds what is kept of what changed while an answer was awaited.
const maxHeld = 1024

// within runs f, and cuts the connection's reads and writes short when ctx ends.
func (c *Conn) within(ctx context.Context, f func() error) error {
	if err := c.conn.SetDeadline(time.Time{}); err != nil {
		return err
	}
	stop := context.AfterFunc(ctx, func() { _ = c.conn.SetDeadline(time.Unix(1, 0)) })
	err := f()
	if !stop() && errors.Is(err, os.ErrDeadlineExceeded) {
		err = context.Cause(ctx)
	}
	if err != nil {
		return fmt.Errorf("%s: %w", c.path, err)
	}
	return nil
}

// call makes a request and waits for its answer.
func (c *Conn) call(ctx context.Context, method string, params []any) (result json.RawMessage, err error) {
	err = c.within(ctx, func() error {
		c.number++
		if err := c.send(map[string]any{"method": method, "params": params, "id": c.number}); err != nil {
			return err
		}
		for {
			msg, err := c.receive()
			if err != nil {
				return err
			}
			if n, ok := msg.number(); !ok || n != c.number {
				continue
			}
			if !isNull(msg.Error) {
				return requestError(msg.Error)
			}
			result = msg.Result
			return nil
		}
	})
	return result, err
}

// requestError is a request that the server refused as a whole. RFC 7047 leaves the form open.
func requestError(raw json.RawMessage) error {
	var e struct {
		Error   string `json:"error"`
		Details string `json:"details"`
	}
	if json.Unmarshal(raw, &e) != nil || e.Error == "" {
		e.Error = fmt.Sprintf("%.200s", raw)
	}
	return &Error{Code: e.Error, Details: e.Details, Op: -1}
}

func (c *Conn) send(msg any) error {
	b, err := json.Marshal(msg)
	if err != nil {
		return err
	}
	_, err = c.conn.Write(b)
	return err
}

// receive reads a message. What the server asks is answered, and what it tells is kept for Next.
func (c *Conn) receive() (message, error) {
	msg, err := c.in.next()
	if err != nil {
		return msg, err
	}
	switch msg.Method {
	case "echo": // it asks whether we live
		if isNull(msg.ID) {
			return msg, nil
		}
		result := msg.Params
		if isNull(result) {
			result = json.RawMessage("[]")
		}
		return msg, c.send(map[string]any{"result": result, "error": nil, "id": msg.ID})
	case "update":
		if len(c.held) == maxHeld {
			return msg, ErrTooLong
		}
		t, err := parseUpdate(msg.Params)
		if err == nil {
			c.held = append(c.held, t)
		}
		return msg, err
	}
	return msg, nil
}

// Transact carries operations out, all or none, and returns what each answered. What the database refuses is an *Error, and
// then nothing was changed.
func (c *Conn) Transact(ctx context.Context, ops ...Op) ([]Result, error) {
	params := []any{Database}
	for _, o := range ops {
		params = append(params, o)
	}
	raw, err := c.call(ctx, "transact", params)
	if err != nil {
		return nil, err
	}
	return parseResults(raw, len(ops))
}

// Watch is what is told of a table.
type Watch struct {
	Columns []string `json:"columns"`
	Select  Kinds    `json:"select"`
}

// Kinds are the changes that are told.
type Kinds struct {
	Initial bool `json:"initial"` // what there is when the watch begins
	Insert  bool `json:"insert"`
	Delete  bool `json:"delete"`
	Modify  bool `json:"modify"`
}

// Monitor begins to watch tables. Call it once; Next returns what changes from now on.
func (c *Conn) Monitor(ctx context.Context, tables map[string]Watch) error {
	_, err := c.call(ctx, "monitor", []any{Database, "taproom", tables})
	return err
}

// Next waits for what changes next.
func (c *Conn) Next(ctx context.Context) (Tables, error) {
	err := c.within(ctx, func() error {
		for len(c.held) == 0 {
			if _, err := c.receive(); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	t := c.held[0]
	c.held = c.held[1:]
	return t, nil
}
