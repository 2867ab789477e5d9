package qmp

import (
	"errors"
	"fmt"
	"net"
	"testing"

	"taproom/internal/host"
)

func TestAConnectionGoesOnWithItsNextOwner(t *testing.T) {
	k := host.New(host.Options{})
	c := dial(t, func(p *peer) {
		for range 2 {
			name, id, _ := p.next()
			p.say(`{"event": "RESUME", "timestamp": {"seconds": 1, "microseconds": 0}}`)
			p.say(`{"return": {"was": %q}, "id": %d}`, name, id)
		}
		if name, _, _ := p.next(); name != "" {
			t.Errorf("%s came after the end", name)
		}
	})
	for _, command := range []string{"query-first", "query-second"} {
		var got struct{ Was string }
		if err := c.Execute(t.Context(), command, nil, &got); err != nil || got.Was != command {
			t.Fatalf("%s: %+v, %v", command, got, err)
		}
		if e := <-c.Events(); e.Name != "RESUME" {
			t.Errorf("event %+v", e)
		}
		if command == "query-second" {
			break
		}
		f, err := c.Detach()
		if err != nil {
			t.Fatal(err)
		}
		if err := c.Execute(t.Context(), "query-late", nil, nil); !errors.Is(err, ErrDetached) {
			t.Errorf("by the former owner: %v", err)
		}
		if _, ok := <-c.Events(); ok {
			t.Error("the former owner's events go on")
		}
		conn, err := net.FileConn(f)
		if err != nil {
			t.Fatal(err)
		}
		f.Close()
		if err := c.Close(); err != nil {
			t.Fatal(err)
		}
		c = Resume(k, conn, "next")
	}
	if err := c.Close(); err != nil {
		t.Error(err)
	}
}

func TestAConnectionThatIsBusyIsNotGivenAway(t *testing.T) {
	t.Run("a command is under way", func(t *testing.T) {
		asked, ended := make(chan struct{}), make(chan struct{})
		c := dial(t, func(p *peer) {
			p.next()
			close(asked)
			<-ended
		})
		defer close(ended)
		go func() { _ = c.Execute(t.Context(), "query-status", nil, nil) }()
		<-asked
		if _, err := c.Detach(); err == nil {
			t.Error("it was given away")
		}
		if err := c.Execute(t.Context(), "query-status", nil, nil); !errors.Is(err, ErrClosed) {
			t.Errorf("afterwards: %v", err)
		}
	})
	t.Run("half a message has come", func(t *testing.T) {
		c := dial(t, func(p *peer) {
			_, id, _ := p.next()
			fmt.Fprintf(p.conn, `{"return": {}, "id": %d}`+"\n"+`{"event": "RES`, id)
			p.next()
		})
		if err := c.Execute(t.Context(), "query-status", nil, nil); err != nil {
			t.Fatal(err)
		}
		f, err := c.Detach()
		if err == nil {
			f.Close()
			t.Error("it was given away")
		}
	})
}
