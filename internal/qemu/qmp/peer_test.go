package qmp

import (
	"bufio"
	"encoding/json"
	"fmt"
	"net"
	"path/filepath"
	"sync"
	"testing"

	"taproom/internal/host"
	"taproom/internal/host/hosttest"
)

func TestMain(m *testing.M) { hosttest.Main(m) }

const hello = `{"QMP": {"version": {"qemu": {"micro": 22, "minor": 2, "major": 7}, "package": "Debian"}, "capabilities": ["oob"]}}` + "\n"

// peer is the other end of a scripted conversation.
type peer struct {
	conn net.Conn
	in   *bufio.Reader
	last uint64 // the id of the last command that was read
}

func (p *peer) say(format string, args ...any) { fmt.Fprintf(p.conn, format+"\n", args...) }

// next returns the name and id of the next command.
func (p *peer) next() (name string, id uint64, args json.RawMessage) {
	line, err := p.in.ReadBytes('\n')
	if err != nil {
		return "", 0, nil
	}
	var c struct {
		Execute   string          `json:"execute"`
		Arguments json.RawMessage `json:"arguments"`
		ID        uint64          `json:"id"`
	}
	if json.Unmarshal(line, &c) != nil {
		return string(line), 0, nil
	}
	p.last = c.ID
	return c.Execute, c.ID, c.Arguments
}

// greet plays the opening of a well-behaved QEMU.
func (p *peer) greet() {
	fmt.Fprint(p.conn, hello)
	_, id, _ := p.next()
	p.say(`{"return": {}, "id": %d}`, id)
}

// serve runs a script as the peer of one connection, waits for it at the end, and returns the socket's path.
func serve(t *testing.T, script func(p *peer)) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "qmp.sock")
	l, err := net.Listen("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	wg.Go(func() {
		conn, err := l.Accept()
		if err != nil {
			return
		}
		defer conn.Close()
		script(&peer{conn: conn, in: bufio.NewReader(conn)})
	})
	t.Cleanup(func() { l.Close(); wg.Wait() })
	return path
}

func dial(t *testing.T, script func(p *peer)) *Client {
	t.Helper()
	c, err := Dial(t.Context(), host.New(host.Options{}), serve(t, func(p *peer) { p.greet(); script(p) }))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return c
}

// drain keeps the connection open until the client goes.
func (p *peer) drain() {
	for {
		if _, id, _ := p.next(); id == 0 {
			return
		}
	}
}
