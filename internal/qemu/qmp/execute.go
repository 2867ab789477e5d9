package qmp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"time"
)

// Command is one command of a batch.
type Command struct {
	Name  string
	Args  any // marshalled as the arguments object; nil for none
	Reply any // a pointer that the return value is unmarshalled into; nil to drop it
}

// Execute sends one command and waits for its reply, which is unmarshalled into reply (a pointer, or nil to drop it).
// QEMU's refusal is an *Error, a lost connection a *ConnError, and the end of ctx a *NoReplyError.
func (c *Client) Execute(ctx context.Context, command string, args, reply any) error {
	return c.run(ctx, []Command{{Name: command, Args: args, Reply: reply}}, nil)
}

// ExecuteBatch sends the commands in one write and waits for all replies. QEMU executes them in order and does not stop
// at one that fails, so the error may join several.
func (c *Client) ExecuteBatch(ctx context.Context, commands []Command) error {
	return c.run(ctx, commands, nil)
}

// AddedFD is a descriptor that QEMU took into a set.
type AddedFD struct {
	Set int64 `json:"fdset-id"`
	FD  int   `json:"fd"` // the number in QEMU
}

// AddFD passes a descriptor into a set, where "/dev/fdset/SET" names it. QEMU picks the one that fits how it opens the
// file, so a disk needs a read-only and a read-write one. opaque is shown by query-fdsets. The caller keeps f.
func (c *Client) AddFD(ctx context.Context, set int64, opaque string, f *os.File) (AddedFD, error) {
	var added AddedFD
	args := map[string]any{"fdset-id": set, "opaque": opaque}
	err := c.run(ctx, []Command{{Name: "add-fd", Args: args, Reply: &added}}, []*os.File{f})
	return added, err
}

// GetFD passes a descriptor under a name, which a netdev, a chardev or a migration then takes. The caller keeps f.
func (c *Client) GetFD(ctx context.Context, name string, f *os.File) error {
	return c.run(ctx, []Command{{Name: "getfd", Args: map[string]string{"fdname": name}}}, []*os.File{f})
}

func (c *Client) run(ctx context.Context, commands []Command, files []*os.File) error {
	if len(commands) == 0 {
		return nil
	}
	calls, ids, data, err := c.enlist(commands)
	if err != nil {
		return err
	}
	defer c.forget(ids)
	if err := c.write(ctx, commands[0].Name, data, files); err != nil {
		return err
	}
	var errs []error
	for i, w := range calls {
		m, err := c.await(ctx, w)
		if err != nil {
			return errors.Join(append(errs, err)...) // the others would only say the same
		}
		if err := m.into(w.command, commands[i].Reply); err != nil {
			errs = append(errs, err)
		}
	}
	if len(errs) == 1 {
		return errs[0]
	}
	return errors.Join(errs...)
}

// into turns a reply into the caller's value or error.
func (m message) into(command string, reply any) error {
	if m.kind == kindError {
		e := m.err
		e.Command = command
		return &e
	}
	if reply == nil {
		return nil
	}
	if err := json.Unmarshal(m.ret, reply); err != nil {
		return fmt.Errorf("%w: reply to %s: %w", ErrMalformed, command, err)
	}
	return nil
}

// enlist gives every command an id under which its reply will be found.
func (c *Client) enlist(commands []Command) (calls []*call, ids []uint64, data []byte, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.err != nil {
		return nil, nil, nil, c.err
	}
	if c.lastID-c.base+uint64(len(commands)) > session {
		return nil, nil, nil, &ConnError{Peer: c.peer, Err: errors.New("every id of this connection was used")}
	}
	first := c.lastID + 1
	for i, cmd := range commands {
		if data, err = encode(data, first+uint64(i), cmd); err != nil {
			return nil, nil, nil, err
		}
	}
	for i, cmd := range commands {
		w := &call{command: cmd.Name, reply: make(chan message, 1)}
		c.lastID = first + uint64(i)
		c.pending[c.lastID] = w
		calls, ids = append(calls, w), append(ids, c.lastID)
	}
	return calls, ids, data, nil
}

func (c *Client) forget(ids []uint64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, id := range ids {
		delete(c.pending, id)
	}
}

// write sends data, and files beside its first byte. A message that went out in part would corrupt the next one, so
// whatever stops a write ends the connection.
func (c *Client) write(ctx context.Context, command string, data []byte, files []*os.File) error {
	select {
	case c.writing <- struct{}{}:
	case <-c.done:
		return c.Err()
	case <-ctx.Done():
		return &NoReplyError{Command: command, Err: context.Cause(ctx)}
	}
	defer func() { <-c.writing }()
	if ctx.Err() != nil {
		return &NoReplyError{Command: command, Err: context.Cause(ctx)}
	}
	unblocked := make(chan struct{})
	stop := context.AfterFunc(ctx, func() {
		_ = c.conn.SetWriteDeadline(time.Unix(1, 0))
		close(unblocked)
	})
	var err error
	if len(files) == 0 {
		_, err = c.conn.Write(data)
	} else {
		err = c.k.SendFiles(c.conn, data, files...)
	}
	fired := !stop()
	if fired {
		<-unblocked
	}
	switch {
	case err == nil && fired:
		_ = c.conn.SetWriteDeadline(time.Time{})
		return nil // written; await sees the context
	case err == nil:
		return nil
	case fired:
		c.fail(fmt.Errorf("QEMU does not read: %w", context.Cause(ctx)))
		return &NoReplyError{Command: command, Err: context.Cause(ctx)}
	}
	c.fail(sortOut(err))
	return c.Err()
}

func (c *Client) await(ctx context.Context, w *call) (message, error) {
	select {
	case m := <-w.reply:
		return m, nil
	case <-c.done:
	case <-ctx.Done():
	}
	select { // it may have come in the same moment
	case m := <-w.reply:
		return m, nil
	default:
	}
	select {
	case <-c.done:
		return message{}, c.Err()
	default:
		return message{}, &NoReplyError{Command: w.command, Err: context.Cause(ctx)}
	}
}
