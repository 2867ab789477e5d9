package agent

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	"taproom/internal/appliance/pid1"
	"taproom/internal/appliance/wire"
)

const (
	// maxInFlight is how many requests are worked on at a time. One more is answered with an error.
	maxInFlight = 16
	maxWait     = 10 * time.Minute
)

// handler answers one operation. When it returns an after, that runs once the answer was written.
type handler func(ctx context.Context, args json.RawMessage) (result any, after func(), err error)

// server answers requests from one port.
type server struct {
	handlers map[wire.Op]handler
	slots    chan struct{}
	tasks    sync.WaitGroup

	mu  sync.Mutex // one frame at a time
	out io.Writer
}

func newServer(a *Agent) *server {
	l, st := &listeners{}, &streams{}
	return &server{slots: make(chan struct{}, maxInFlight), handlers: map[wire.Op]handler{
		wire.OpHello: with(func(ctx context.Context, w wire.HelloWait) (any, error) {
			if w.Seconds > 0 {
				ctx, cancel := context.WithTimeout(ctx, bounded(w.Seconds, maxWait))
				defer cancel()
				select {
				case <-ctx.Done():
				case <-a.ready:
				}
			}
			return a.hello(), nil
		}),
		wire.OpPing: plain(func() any { return struct{}{} }),
		wire.OpNetwork: with(func(ctx context.Context, w wire.NetworkWait) (any, error) {
			if w.Seconds > 0 {
				ctx, cancel := context.WithTimeout(ctx, bounded(w.Seconds, maxWait))
				defer cancel()
				a.nics.waitLeases(ctx, w.Leases)
			}
			return a.network(), nil
		}),
		wire.OpTraffic:    with(func(ctx context.Context, t wire.Traffic) (any, error) { return traffic(ctx, t) }),
		wire.OpListen:     with(func(ctx context.Context, r wire.Listen) (any, error) { return l.listen(ctx, r) }),
		wire.OpSend:       with(func(ctx context.Context, r wire.Send) (any, error) { return st.send(ctx, r) }),
		wire.OpSink:       with(func(ctx context.Context, r wire.Sink) (any, error) { return st.sink(ctx, r) }),
		wire.OpMeter:      with(func(_ context.Context, r wire.Meter) (any, error) { return st.meter(r) }),
		wire.OpHear:       with(func(_ context.Context, h wire.Hear) (any, error) { return hear(h) }),
		wire.OpBlocks:     plain(func() any { return hostDisks().list() }),
		wire.OpBlockWrite: with(func(_ context.Context, t wire.BlockTest) (any, error) { return hostDisks().write(t) }),
		wire.OpBlockRead:  with(func(_ context.Context, t wire.BlockTest) (any, error) { return hostDisks().read(t) }),
		wire.OpGreet:      with(func(_ context.Context, g wire.Greet) (any, error) { return struct{}{}, greet(g) }),
		wire.OpSystem:     plain(func() any { return system() }),
		wire.OpShare:      with(func(_ context.Context, s wire.Share) (any, error) { return share(s) }),
		wire.OpPowerOff:   last(func() { a.power.off("asked by the host") }),
		wire.OpReboot:     last(func() { a.power.restart("asked by the host") }),
		wire.OpCrash: last(func() {
			if err := a.power.crash(); err != nil {
				a.console.printf("%v", err)
			}
		}),
	}}
}

func plain(f func() any) handler {
	return func(context.Context, json.RawMessage) (any, func(), error) { return f(), nil, nil }
}

func last(f func()) handler {
	return func(context.Context, json.RawMessage) (any, func(), error) { return struct{}{}, f, nil }
}

func with[T any](f func(context.Context, T) (any, error)) handler {
	return func(ctx context.Context, args json.RawMessage) (any, func(), error) {
		var v T
		if len(args) > 0 {
			if err := json.Unmarshal(args, &v); err != nil {
				return nil, nil, fmt.Errorf("arguments: %w", err)
			}
		}
		result, err := f(ctx, v)
		return result, nil, err
	}
}

// serve answers until the port fails. Answers to a host process that went away are its successor's to throw away.
func (s *server) serve(ctx context.Context, rw io.ReadWriter) {
	ctx, cancel := context.WithCancel(ctx)
	defer s.tasks.Wait()
	defer cancel()
	s.out = rw
	frames := wire.NewDecoder(rw)
	for {
		payload, err := frames.Next()
		switch {
		case errors.Is(err, wire.ErrReset):
			s.send(wire.Reset())
			continue
		case errors.Is(err, wire.ErrTooLong):
			continue
		case err != nil:
			return
		}
		var r wire.Request
		if err := json.Unmarshal(payload, &r); err != nil {
			s.answer(wire.Response{Error: "request is not understood: " + err.Error()})
			continue
		}
		select {
		case s.slots <- struct{}{}:
			s.tasks.Go(func() {
				defer func() { <-s.slots }()
				s.handle(ctx, r)
			})
		default:
			s.answer(wire.Response{ID: r.ID, Error: fmt.Sprintf("busy with %d requests", maxInFlight)})
		}
	}
}

func (s *server) handle(ctx context.Context, r wire.Request) {
	h := s.handlers[r.Op]
	if h == nil {
		s.answer(wire.Response{ID: r.ID, Error: fmt.Sprintf("unknown operation %q", r.Op)})
		return
	}
	result, after, err := h(ctx, r.Args)
	response := wire.Response{ID: r.ID}
	if err == nil {
		response.Result, err = json.Marshal(result)
	}
	if err != nil {
		response = wire.Response{ID: r.ID, Error: err.Error()}
	}
	s.answer(response)
	if after != nil {
		after()
	}
}

func (s *server) answer(r wire.Response) {
	const longestError = 4 << 10
	r.Error = r.Error[:min(len(r.Error), longestError)]
	payload, err := json.Marshal(r)
	if err != nil {
		return
	}
	frame, err := wire.Encode(payload)
	if err != nil {
		s.answer(wire.Response{ID: r.ID, Error: err.Error()})
		return
	}
	s.send(frame)
}

func (s *server) send(b []byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	_, _ = s.out.Write(b) // the reader sees a port that is gone, and ends
}

func (a *Agent) hello() wire.Hello {
	ready := false
	select {
	case <-a.ready:
		ready = true
	default:
	}
	return wire.Hello{
		Ready:   ready,
		Version: a.version, Kernel: kernelRelease(), BootID: pid1.ReadText("/proc/sys/kernel/random/boot_id"),
		Modules: a.modules.Names(), Steps: a.boot(), NICs: a.nics.describe(), Now: sinceBoot(),
	}
}
