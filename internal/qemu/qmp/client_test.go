package qmp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"taproom/internal/host"
)

func TestRepliesFindTheirCallersOutOfOrder(t *testing.T) {
	t.Parallel()
	const n = 50
	c := dial(t, func(p *peer) {
		type cmd struct {
			id   uint64
			args json.RawMessage
		}
		var got []cmd
		for range n {
			_, id, args := p.next()
			got = append(got, cmd{id, args})
		}
		for i := len(got) - 1; i >= 0; i-- {
			p.say(`{"return": %s, "id": %d}`, got[i].args, got[i].id)
		}
		p.drain()
	})
	var wg sync.WaitGroup
	for i := range n {
		wg.Go(func() {
			var reply struct{ N int }
			if err := c.Execute(t.Context(), "echo", map[string]int{"N": i}, &reply); err != nil || reply.N != i {
				t.Errorf("echo %d: got %d, %v", i, reply.N, err)
			}
		})
	}
	wg.Wait()
}

func TestBatchGoesOutAsOneWriteAndReportsEveryRefusal(t *testing.T) {
	t.Parallel()
	var steps []string
	k := host.New(host.Options{Hook: func(call string) { steps = append(steps, call) }})
	path := serve(t, func(p *peer) {
		p.greet()
		for range 3 {
			name, id, _ := p.next()
			if name == "good" {
				p.say(`{"return": {"ok": true}, "id": %d}`, id)
			} else {
				p.say(`{"error": {"class": "DeviceNotFound", "desc": "no %s"}, "id": %d}`, name, id)
			}
		}
		p.drain()
	})
	c, err := Dial(t.Context(), k, path)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	var reply struct{ OK bool }
	err = c.ExecuteBatch(t.Context(), []Command{{Name: "bad1"}, {Name: "good", Reply: &reply}, {Name: "bad2"}})
	want := "QEMU refused bad1: no bad1 (DeviceNotFound)\nQEMU refused bad2: no bad2 (DeviceNotFound)"
	if err == nil || err.Error() != want || !reply.OK {
		t.Errorf("batch: got %v, reply %v; want %s and the good reply", err, reply, want)
	}
	wantSteps := []string{"socket connect qmp.sock", "message qmp.sock", "message qmp.sock"}
	if d := cmp.Diff(wantSteps, steps); d != "" {
		t.Errorf("calls into the kernel (-want +got):\n%s", d)
	}
}

func TestRefusalIsTypedAndTheConnectionGoesOn(t *testing.T) {
	t.Parallel()
	c := dial(t, func(p *peer) {
		_, id, _ := p.next()
		p.say(`{"error": {"class": "CommandNotFound", "desc": "The command nope has not been found"}, "id": %d}`, id)
		_, id, _ = p.next()
		p.say(`{"return": {}, "id": %d}`, id)
		p.drain()
	})
	err := c.Execute(t.Context(), "nope", nil, nil)
	var refused *Error
	want := Error{Class: "CommandNotFound", Desc: "The command nope has not been found", Command: "nope"}
	if !errors.As(err, &refused) || *refused != want {
		t.Errorf("nope: got %v, want %+v", err, want)
	}
	if err := c.Execute(t.Context(), "stop", nil, nil); err != nil {
		t.Errorf("stop after a refusal: %v", err)
	}
}

// A thousand of them may wait for their consumer.
func TestAnEventThatIsLongerThanAnyEndsTheConnection(t *testing.T) {
	t.Parallel()
	for size, want := range map[int]error{maxEvent / 2: ErrPeerClosed, maxEvent: ErrLineTooLong} {
		c := dial(t, func(p *peer) {
			p.say(`{"timestamp": {"seconds": 1, "microseconds": 5}, "event": "STOP", "data": {"x": "%s"}}`, strings.Repeat("x", size))
		})
		<-c.Done()
		if err := c.Err(); !errors.Is(err, want) {
			t.Errorf("an event of more than %d bytes: %v, want %v", size, err, want)
		}
	}
}

func TestEventsComeInOrderWithTheirTime(t *testing.T) {
	t.Parallel()
	c := dial(t, func(p *peer) {
		p.say(`{"timestamp": {"seconds": 1700000000, "microseconds": 5}, "event": "STOP"}`)
		p.say(`{"timestamp": {"seconds": -1, "microseconds": -1}, "event": "SHUTDOWN", "data": {"guest": true}}`)
	})
	var got []string
	for e := range c.Events() {
		got = append(got, fmt.Sprintf("%s %s %d", e.Name, e.Data, max(e.Time.UnixMicro(), 0)))
	}
	want := []string{"STOP  1700000000000005", `SHUTDOWN {"guest": true} 0`}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("events (-want +got):\n%s", d)
	}
	if err := c.Err(); !errors.Is(err, ErrPeerClosed) {
		t.Errorf("after the queue closed: got %v, want %v", err, ErrPeerClosed)
	}
}

func TestLateReplyOfAnAbandonedCommandDisturbsNobody(t *testing.T) {
	t.Parallel()
	abandoned := make(chan struct{})
	c := dial(t, func(p *peer) {
		_, first, _ := p.next()
		<-abandoned
		_, second, _ := p.next()
		p.say(`{"return": 1, "id": %d}`, first)
		p.say(`{"return": 2, "id": %d}`, second)
		p.drain()
	})
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	err := c.Execute(ctx, "slow", nil, nil)
	var late *NoReplyError
	if !errors.As(err, &late) || late.Command != "slow" || !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("slow: got %v, want a NoReplyError of slow by the deadline", err)
	}
	close(abandoned)
	var n int
	if err := c.Execute(t.Context(), "next", nil, &n); err != nil || n != 2 {
		t.Errorf("next: got %d, %v; want 2", n, err)
	}
}

func TestRepliesToAnEarlierClientAreNobodys(t *testing.T) {
	t.Parallel()
	c, err := Dial(t.Context(), host.New(host.Options{}), serve(t, func(p *peer) {
		p.say(`{"return": {"to": "an earlier client"}, "id": 3}`)
		p.say(`{"event": "STOP"}`)
		p.greet()
		p.say(`{"return": {"to": "an earlier client"}, "id": 4}`)
		for range 2 {
			_, id, _ := p.next()
			p.say(`{"error": {"class": "GenericError", "desc": "of an earlier client"}, "id": %d}`, uint64(1)<<63-id)
			p.say(`{"return": %d, "id": %d}`, id, id)
		}
		p.drain()
	}))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	var first, second uint64
	err = c.ExecuteBatch(t.Context(), []Command{{Name: "a", Reply: &first}, {Name: "b", Reply: &second}})
	if err != nil || second != first+1 {
		t.Errorf("got %d and %d, %v", first, second, err)
	}
}

func TestPeerThatStopsReadingIsDroppedWhenTheCallerGivesUp(t *testing.T) {
	t.Parallel()
	gone := make(chan struct{})
	defer close(gone)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	c := dial(t, func(p *peer) {
		_, _ = p.in.ReadByte() // the command is under way
		cancel()
		<-gone
	})
	err := c.Execute(ctx, "big", strings.Repeat("x", 4<<20), nil)
	if !errors.Is(err, context.Canceled) {
		t.Errorf("write to a peer that does not read: got %v, want the context's error", err)
	}
	<-c.Done()
	if err := c.Execute(t.Context(), "next", nil, nil); !errors.As(err, new(*ConnError)) {
		t.Errorf("after half a command: got %v, want a ConnError", err)
	}
}

func TestAQEMUMayGreetTwiceBeforeItTakesCommands(t *testing.T) {
	t.Parallel()
	path := serve(t, func(p *peer) {
		fmt.Fprint(p.conn, hello)
		p.greet()
		p.drain()
	})
	c, err := Dial(t.Context(), host.New(host.Options{}), path)
	if err != nil {
		t.Fatal(err)
	}
	c.Close()
}

func TestWhatIsNotQMPEndsTheConnectionForEveryWaiter(t *testing.T) {
	t.Parallel()
	cases := []struct {
		name string
		want error
		say  func(p *peer)
	}{
		{"garbage", ErrMalformed, func(p *peer) { p.say("hello") }},
		{"two kinds in one", ErrMalformed, func(p *peer) { p.say(`{"return": {}, "event": "X", "id": %d}`, p.last+1) }},
		{"no kind", ErrMalformed, func(p *peer) { p.say(`{"id": 2}`) }},
		{"second greeting", ErrMalformed, func(p *peer) { fmt.Fprint(p.conn, hello) }},
		{"reply without id", ErrMalformed, func(p *peer) { p.say(`{"error": {"class": "GenericError", "desc": "JSON"}}`) }},
		{"reply to the future", ErrMalformed, func(p *peer) { p.say(`{"return": {}, "id": %d}`, p.last+99) }},
		{"negative id", ErrMalformed, func(p *peer) { p.say(`{"return": {}, "id": -1}`) }},
		{"endless line", ErrLineTooLong, func(p *peer) {
			for b := []byte(strings.Repeat("x", 1<<20)); ; {
				if _, err := p.conn.Write(b); err != nil {
					return
				}
			}
		}},
		{"half a message", ErrTruncated, func(p *peer) { fmt.Fprint(p.conn, `{"return": `) }},
		{"silence and goodbye", ErrPeerClosed, func(*peer) {}},
		{"flood of events", ErrEventOverflow, func(p *peer) {
			for range eventQueue + 1 {
				p.say(`{"event": "RTC_CHANGE"}`)
			}
		}},
	}
	for _, tc := range cases {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			c := dial(t, func(p *peer) {
				for range 3 {
					p.next()
				}
				tc.say(p)
			})
			var wg sync.WaitGroup
			for range 3 {
				wg.Go(func() {
					err := c.Execute(t.Context(), "query-status", nil, nil)
					if !errors.Is(err, tc.want) || !errors.As(err, new(*ConnError)) {
						t.Errorf("waiting caller: got %v, want %v in a ConnError", err, tc.want)
					}
				})
			}
			wg.Wait()
			<-c.Done()
			if err := c.Execute(t.Context(), "query-status", nil, nil); !errors.Is(err, tc.want) {
				t.Errorf("caller after the end: got %v, want %v", err, tc.want)
			}
		})
	}
}

func TestDialNeedsAGreeting(t *testing.T) {
	t.Parallel()
	cases := []struct {
		name string
		want error
		say  func(p *peer)
	}{
		{"nothing until the deadline", context.DeadlineExceeded, func(p *peer) { p.next() }},
		{"greets and then hangs", context.DeadlineExceeded, func(p *peer) { fmt.Fprint(p.conn, hello); p.next(); p.next() }},
		{"closes at once", ErrPeerClosed, func(*peer) {}},
		{"greets with something else", ErrMalformed, func(p *peer) {
			for range leftovers + 1 {
				p.say(`{"event": "X"}`)
			}
			p.next()
		}},
		{"greets in another type", ErrMalformed, func(p *peer) { p.say(`{"QMP": []}`); p.next() }},
		{"speaks another protocol", ErrMalformed, func(p *peer) { p.say("SSH-2.0-OpenSSH_9.2"); p.next() }},
	}
	for _, tc := range cases {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
			defer cancel()
			c, err := Dial(ctx, host.New(host.Options{}), serve(t, tc.say))
			if !errors.Is(err, tc.want) {
				t.Errorf("dial: got %v, want %v", err, tc.want)
			}
			if c != nil {
				c.Close()
			}
		})
	}
}

func TestCloseReleasesWaitersAndMayBeRepeated(t *testing.T) {
	t.Parallel()
	asked := make(chan struct{})
	c := dial(t, func(p *peer) { p.next(); close(asked); p.drain() })
	var wg sync.WaitGroup
	wg.Go(func() {
		if err := c.Execute(t.Context(), "query-status", nil, nil); !errors.Is(err, ErrClosed) {
			t.Errorf("waiting caller: got %v, want %v", err, ErrClosed)
		}
	})
	<-asked
	for range 2 {
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	}
	wg.Wait()
	if _, open := <-c.Events(); open {
		t.Error("the event queue is open after Close")
	}
}

func TestDescriptorsTravelWithTheirCommand(t *testing.T) {
	t.Parallel()
	k := host.New(host.Options{})
	content := make(chan string, 1)
	c := dial(t, func(p *peer) {
		buf := make([]byte, 4096)
		_, files, err := k.ReceiveFiles(p.conn, buf, 4)
		if err != nil || len(files) != 1 {
			content <- fmt.Sprint(len(files), err)
			return
		}
		b := make([]byte, 16)
		n, _ := files[0].Read(b)
		files[0].Close()
		content <- string(b[:n])
		p.say(`{"return": {"fdset-id": 7, "fd": 21}, "id": %d}`, p.last+1)
		p.drain()
	})
	path := filepath.Join(t.TempDir(), "disk")
	if err := os.WriteFile(path, []byte("sectors"), 0o600); err != nil {
		t.Fatal(err)
	}
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	got, err := c.AddFD(t.Context(), 7, "vda:ro", f)
	if want := (AddedFD{Set: 7, FD: 21}); err != nil || got != want {
		t.Errorf("add-fd: got %+v, %v; want %+v", got, err, want)
	}
	if got := <-content; got != "sectors" {
		t.Errorf("the peer read %q from the descriptor, want %q", got, "sectors")
	}
}

func TestAnAbsentQEMUAnswersEveryCallWithTheReason(t *testing.T) {
	t.Parallel()
	c := Absent("qmp.sock", io.ErrNoProgress)
	for _, err := range []error{c.Execute(t.Context(), "query-status", nil, nil), c.Err()} {
		if !errors.Is(err, io.ErrNoProgress) || !errors.As(err, new(*ConnError)) {
			t.Errorf("got %v, want the reason in a ConnError", err)
		}
	}
	if _, ok := <-c.Events(); ok {
		t.Error("there is an event")
	}
	<-c.Done()
	if err := c.Close(); err != nil {
		t.Error(err)
	}
}
