package appliance

import (
	"context"
	"encoding/json"
	"errors"
	"net"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"taproom/internal/appliance/wire"
	"taproom/internal/qemu/emutest"
)

// peer plays the agent's side of a connection with a script.
func peer(t *testing.T, script func(net.Conn)) net.Conn {
	t.Helper()
	ours, theirs := net.Pipe()
	var task sync.WaitGroup
	task.Go(func() {
		defer theirs.Close()
		script(theirs)
	})
	t.Cleanup(func() {
		_ = ours.Close()
		task.Wait()
	})
	return ours
}

// take reads a request; the zero one when the connection ended.
func take(d *wire.Decoder) wire.Request {
	for {
		payload, err := d.Next()
		if errors.Is(err, wire.ErrReset) {
			continue
		}
		var r wire.Request
		if err == nil {
			_ = json.Unmarshal(payload, &r)
		}
		return r
	}
}

func give(conn net.Conn, payload string) {
	frame, err := wire.Encode([]byte(payload))
	if err == nil {
		_, _ = conn.Write(frame)
	}
}

func answerTo(r wire.Request, rest string) string {
	b, _ := json.Marshal(r.ID)
	return `{"id":` + string(b) + `,` + rest + `}`
}

// accept answers the reset and returns where requests come from.
func accept(conn net.Conn) *wire.Decoder {
	d := wire.NewDecoder(conn)
	_, _ = d.Next()
	_, _ = conn.Write(wire.Reset())
	return d
}

func connect(t *testing.T, script func(net.Conn)) *Client {
	t.Helper()
	ctx, cancel := emutest.Context(t.Context())
	defer cancel()
	c, err := NewClient(ctx, peer(t, script))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	return c
}

func TestAnswersToTheProcessBeforeUsAreDropped(t *testing.T) {
	t.Parallel()
	c := connect(t, func(conn net.Conn) {
		d := wire.NewDecoder(conn)
		_, _ = d.Next()
		give(conn, `{"id":1,"result":{"version":"stale"}}`)
		_, _ = conn.Write([]byte{0, 0, 1, 0, '{'}) // cut by the reset
		_, _ = conn.Write(wire.Reset())
		give(conn, `{"id":1,"result":{"version":"stale"}}`)
		give(conn, answerTo(take(d), `"result":{"version":"fresh"}`))
	})
	h, err := c.Hello(t.Context())
	if err != nil || h.Version != "fresh" {
		t.Errorf("got %+v, %v", h, err)
	}
}

func TestAnswersMayComeInAnyOrder(t *testing.T) {
	t.Parallel()
	c := connect(t, func(conn net.Conn) {
		d := accept(conn)
		byOp := map[wire.Op]wire.Request{}
		for range 2 {
			r := take(d)
			byOp[r.Op] = r
		}
		give(conn, answerTo(byOp[wire.OpSystem], `"result":{"cpus":3}`))
		give(conn, answerTo(byOp[wire.OpHello], `"result":{"version":"v"}`))
	})
	var tasks sync.WaitGroup
	defer tasks.Wait()
	tasks.Go(func() {
		if h, err := c.Hello(t.Context()); err != nil || h.Version != "v" {
			t.Errorf("hello: %+v, %v", h, err)
		}
	})
	if s, err := c.System(t.Context()); err != nil || s.CPUs != 3 {
		t.Errorf("system: %+v, %v", s, err)
	}
}

func TestRefusalIsTheAgentsOwnWords(t *testing.T) {
	t.Parallel()
	c := connect(t, func(conn net.Conn) {
		d := accept(conn)
		give(conn, answerTo(take(d), `"error":"no such disk"`))
	})
	_, err := c.Blocks(t.Context())
	var refused *RefusedError
	if !errors.As(err, &refused) || *refused != (RefusedError{Op: wire.OpBlocks, Message: "no such disk"}) {
		t.Errorf("got %v, want a RefusedError", err)
	}
}

func TestGuestThatLiesCannotHoldOrHurtTheHost(t *testing.T) {
	t.Parallel()
	for name, say := range map[string]func(net.Conn){
		"announces 4 GiB":    func(c net.Conn) { _, _ = c.Write([]byte{0xfe, 0xff, 0xff, 0xff, 'x'}) },
		"sends no JSON":      func(c net.Conn) { give(c, "hello?") },
		"sends another type": func(c net.Conn) { give(c, `[1,2,3]`) },
		"goes away":          func(net.Conn) {},
		"cuts a frame":       func(c net.Conn) { _, _ = c.Write([]byte{0, 0, 0, 9, '{'}) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := connect(t, func(conn net.Conn) {
				take(accept(conn))
				say(conn)
			})
			if err := c.Ping(t.Context()); !errors.Is(err, ErrClosed) {
				t.Errorf("got %v, want ErrClosed", err)
			}
			if err := c.Ping(t.Context()); !errors.Is(err, ErrClosed) {
				t.Errorf("the next request: %v, want ErrClosed", err)
			}
		})
	}
}

func TestAnswerOfTheWrongTypeIsAnError(t *testing.T) {
	t.Parallel()
	c := connect(t, func(conn net.Conn) {
		d := accept(conn)
		give(conn, answerTo(take(d), `"result":"text"`))
		give(conn, answerTo(take(d), `"result":{}`))
	})
	if h, err := c.Hello(t.Context()); err == nil {
		t.Errorf("got %+v", h)
	}
	if err := c.Ping(t.Context()); err != nil {
		t.Errorf("the connection was lost by it: %v", err)
	}
}

func TestSilentGuestIsWaitedForAsLongAsTheContextSays(t *testing.T) {
	t.Parallel()
	const patience = 20 * time.Millisecond
	silent := func(conn net.Conn) { // reads and says nothing
		d := wire.NewDecoder(conn)
		for {
			if _, err := d.Next(); err != nil && !errors.Is(err, wire.ErrReset) {
				return
			}
		}
	}
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	if _, err := NewClient(ctx, peer(t, silent)); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("before the first answer: %v, want context.DeadlineExceeded", err)
	}

	c := connect(t, func(conn net.Conn) { take(accept(conn)); silent(conn) })
	ctx, cancel = context.WithTimeout(t.Context(), patience)
	defer cancel()
	if err := c.Ping(ctx); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("without an answer: %v, want context.DeadlineExceeded", err)
	}

	over := make(chan struct{})
	defer close(over)
	c = connect(t, func(conn net.Conn) { // takes the reset and no byte more
		b := make([]byte, len(wire.Reset()))
		_, _ = conn.Read(b)
		_, _ = conn.Write(wire.Reset())
		<-over
	})
	ctx, cancel = context.WithTimeout(t.Context(), patience)
	defer cancel()
	if err := c.Ping(ctx); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("a guest that takes nothing: %v, want context.DeadlineExceeded", err)
	}
}

func TestDialNamesTheSocketThatIsNotThere(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "absent.sock")
	if _, err := Dial(t.Context(), path); err == nil || !strings.Contains(err.Error(), path) {
		t.Errorf("got %v, want an error with %s", err, path)
	}
}
