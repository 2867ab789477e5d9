package agent

import (
	"context"
	"net"
	"strconv"
	"testing"
	"time"

	"taproom/internal/appliance/wire"
)

// newStreams are of a test, and end with it.
func newStreams(t *testing.T) (*streams, context.Context) {
	ctx, cancel := context.WithCancel(t.Context())
	s := &streams{}
	t.Cleanup(func() {
		cancel()
		s.tasks.Wait()
	})
	return s, ctx
}

func TestASinkCountsWhatSendersBring(t *testing.T) {
	t.Parallel()
	for _, send := range []wire.Send{
		{Protocol: "tcp", Streams: 3, Seconds: 60},
		{Protocol: "udp", Size: 1472, Rate: 4 << 20, Seconds: 60},
		{Protocol: "udp", Size: maxDatagram, Rate: 64 << 20, Seconds: 60},
	} {
		s, ctx := newStreams(t)
		at, err := s.sink(ctx, wire.Sink{Protocol: send.Protocol})
		if err != nil {
			t.Fatal(err)
		}
		before, err := s.meter(wire.Meter{Protocol: send.Protocol, Port: at.Port})
		if err != nil || before != (wire.Metered{}) {
			t.Errorf("%+v: before anything was sent: %+v, %v", send, before, err)
		}
		send.Address = net.JoinHostPort("127.0.0.1", strconv.Itoa(at.Port))
		if _, err := s.send(ctx, send); err != nil {
			t.Fatalf("%+v: %v", send, err)
		}
		var got wire.Metered
		for late := time.Now().Add(time.Minute); got.Bytes < 1<<20; <-time.After(time.Millisecond) {
			if got, err = s.meter(wire.Meter{Protocol: send.Protocol, Port: at.Port}); err != nil || time.Now().After(late) {
				t.Fatalf("%+v: %+v, %v", send, got, err)
			}
		}
		if age := time.Since(time.Unix(0, got.Nanos)); age < 0 || age > time.Minute {
			t.Errorf("%+v: the last came %v ago", send, age)
		}
		if send.Size > 0 && got.Bytes%int64(send.Size) != 0 {
			t.Errorf("%+v: %d bytes are no whole datagrams", send, got.Bytes)
		}
	}
}

func TestASenderEndsWhenTheOtherEndHangsUp(t *testing.T) {
	t.Parallel()
	s, ctx := newStreams(t)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	if _, err := s.send(ctx, wire.Send{Protocol: "tcp", Address: l.Addr().String(), Streams: 1, Seconds: 600}); err != nil {
		t.Fatal(err)
	}
	c, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	_ = c.Close()
	p, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.send(ctx, wire.Send{Protocol: "udp", Address: p.LocalAddr().String(), Size: 100, Rate: 1 << 20, Seconds: 600}); err != nil {
		t.Fatal(err)
	}
	_ = p.Close()
	over := make(chan struct{})
	go func() {
		s.tasks.Wait()
		close(over)
	}()
	select {
	case <-over:
	case <-time.After(time.Minute):
		t.Error("somebody sends to nobody")
	}
}

func TestStreamsThatCannotBeAreRefused(t *testing.T) {
	t.Parallel()
	s, ctx := newStreams(t)
	for _, r := range []wire.Send{
		{Protocol: "sctp", Address: "127.0.0.1:1", Streams: 1},
		{Protocol: "tcp", Address: "127.0.0.1:1"},
		{Protocol: "tcp", Address: "127.0.0.1:1", Streams: maxStreams + 1},
		{Protocol: "udp", Address: "127.0.0.1:1", Rate: 1},
		{Protocol: "udp", Address: "127.0.0.1:1", Size: 1},
		{Protocol: "udp", Address: "127.0.0.1:1", Size: maxDatagram + 1, Rate: 1},
		{Protocol: "tcp", Address: "nobody", Streams: 1},
	} {
		if _, err := s.send(ctx, r); err == nil {
			t.Errorf("%+v was begun", r)
		}
	}
	if _, err := s.sink(ctx, wire.Sink{Protocol: "sctp"}); err == nil {
		t.Error("a sink of sctp was opened")
	}
	if _, err := s.meter(wire.Meter{Protocol: "tcp", Port: 1}); err == nil {
		t.Error("a port without a sink was read")
	}
	for i := range maxSinks + 1 {
		if _, err := s.sink(ctx, wire.Sink{Protocol: "udp"}); (err != nil) != (i == maxSinks) {
			t.Errorf("sink %d: %v", i, err)
		}
	}
}
