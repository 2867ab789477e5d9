package agent

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"taproom/internal/appliance/wire"
)

// host plays the host's side against a server with the given handlers.
type host struct {
	t    *testing.T
	conn net.Conn
	in   *wire.Decoder
}

func serve(t *testing.T, handlers map[wire.Op]handler) *host {
	t.Helper()
	ours, theirs := net.Pipe()
	s := &server{slots: make(chan struct{}, maxInFlight), handlers: handlers}
	var task sync.WaitGroup
	task.Go(func() { s.serve(t.Context(), theirs) })
	t.Cleanup(func() {
		_ = ours.Close()
		task.Wait()
	})
	return &host{t, ours, wire.NewDecoder(ours)}
}

func (h *host) send(payload string) {
	h.t.Helper()
	frame, err := wire.Encode([]byte(payload))
	if err == nil {
		_, err = h.conn.Write(frame)
	}
	if err != nil {
		h.t.Fatal(err)
	}
}

func (h *host) receive() string {
	h.t.Helper()
	for {
		payload, err := h.in.Next()
		if errors.Is(err, wire.ErrReset) {
			continue
		}
		if err != nil {
			h.t.Fatal(err)
		}
		return string(payload)
	}
}

func (h *host) expect(want string) {
	h.t.Helper()
	if got := h.receive(); got != want {
		h.t.Errorf("the agent answers\n%s, want\n%s", got, want)
	}
}

// handlers of which every kind is one.
func samples() map[wire.Op]handler {
	return map[wire.Op]handler{
		wire.OpPing: plain(func() any { return struct{}{} }),
		"add":       with(func(_ context.Context, n []int) (any, error) { return n[0] + n[1], nil }),
		"fail":      with(func(context.Context, struct{}) (any, error) { return nil, errors.New("broken") }),
		"huge":      plain(func() any { return strings.Repeat("x", wire.MaxFrame) }),
		"never":     plain(func() any { return func() {} }),
	}
}

func TestEveryRequestGetsOneAnswer(t *testing.T) {
	t.Parallel()
	h := serve(t, samples())
	for _, c := range [][2]string{
		{`{"id":1,"op":"ping"}`, `{"id":1,"result":{}}`},
		{`{"id":2,"op":"add","args":[2,3]}`, `{"id":2,"result":5}`},
		{`{"id":3,"op":"add","args":{"no":"list"}}`, `{"id":3,"error":"arguments: json: cannot unmarshal object into Go value of type []int"}`},
		{`{"id":4,"op":"fail"}`, `{"id":4,"error":"broken"}`},
		{`{"id":5,"op":"exec","args":{"command":"id"}}`, `{"id":5,"error":"unknown operation \"exec\""}`},
		{`{"id":6,"op":"ping","new":"field"}`, `{"id":6,"result":{}}`},
		{`{"id":7,"op":"never"}`, `{"id":7,"error":"json: unsupported type: func()"}`},
	} {
		h.send(c[0])
		h.expect(c[1])
	}
	h.send(`{"id":8,"op":"huge"}`)
	if got := h.receive(); !strings.Contains(got, "frame is too long") || !strings.HasPrefix(got, `{"id":8,`) {
		t.Errorf("a result beyond the limit: %.200s", got)
	}
	h.send(`nonsense`)
	if got := h.receive(); !strings.HasPrefix(got, `{"id":0,"error":"request is not understood`) {
		t.Errorf("nonsense is answered with %s", got)
	}
}

func TestResetIsAnsweredAndForgetsHalfAFrame(t *testing.T) {
	t.Parallel()
	h := serve(t, samples())
	if _, err := h.conn.Write([]byte{0, 0, 4, 0, '{', '"'}); err != nil {
		t.Fatal(err)
	}
	// The server answers while we still write: a pipe has no buffer.
	written := make(chan error, 1)
	go func() {
		_, err := h.conn.Write(wire.Reset())
		written <- err
	}()
	if _, err := h.in.Next(); !errors.Is(err, wire.ErrReset) {
		t.Errorf("got %v, want a reset", err)
	}
	if err := <-written; err != nil {
		t.Fatal(err)
	}
	h.send(`{"id":1,"op":"ping"}`)
	h.expect(`{"id":1,"result":{}}`)
}

func TestRequestsBeyondTheLimitAreRefusedAndTheOthersAnswered(t *testing.T) {
	t.Parallel()
	release := make(chan struct{})
	h := serve(t, map[wire.Op]handler{"wait": with(func(context.Context, struct{}) (any, error) {
		<-release
		return "done", nil
	})})
	for i := range maxInFlight {
		h.send(fmt.Sprintf(`{"id":%d,"op":"wait"}`, i+1))
	}
	h.send(`{"id":99,"op":"wait"}`)
	h.expect(`{"id":99,"error":"busy with 16 requests"}`)
	close(release)
	var got, want []uint64
	for i := range maxInFlight {
		var r wire.Response
		if err := json.Unmarshal([]byte(h.receive()), &r); err != nil {
			t.Fatal(err)
		}
		got, want = append(got, r.ID), append(want, uint64(i+1))
	}
	slices.Sort(got)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("answered (-want +got):\n%s", diff)
	}
}

func TestWhatEndsTheGuestRunsAfterItsAnswer(t *testing.T) {
	t.Parallel()
	ran := make(chan struct{})
	h := serve(t, map[wire.Op]handler{wire.OpPowerOff: last(func() { close(ran) })})
	h.send(`{"id":1,"op":"poweroff"}`)
	select {
	case <-ran:
		t.Error("it ran before the answer was taken")
	default:
	}
	h.expect(`{"id":1,"result":{}}`)
	<-ran
}

func FuzzServer(f *testing.F) {
	frame, _ := wire.Encode([]byte(`{"id":1,"op":"ping"}`))
	f.Add(frame)
	f.Add(append([]byte{0, 0, 1, 0}, wire.Reset()...))
	f.Fuzz(func(_ *testing.T, stream []byte) {
		s := &server{slots: make(chan struct{}, maxInFlight), handlers: samples()}
		s.serve(context.Background(), &replay{in: strings.NewReader(string(stream))})
	})
}

// replay is a port whose host sends something and takes everything.
type replay struct{ in *strings.Reader }

func (r *replay) Read(b []byte) (int, error)  { return r.in.Read(b) }
func (r *replay) Write(b []byte) (int, error) { return len(b), nil }
