package server_test

import (
	"context"
	"errors"
	"net"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"taproom/internal/api/remote"
	"taproom/internal/api/server"
	"taproom/internal/api/server/servertest"
	"taproom/internal/api/virterr"
	"taproom/internal/api/xdr"
	"taproom/internal/spec"
)

func TestThousandIdleConnectionsAreCheap(t *testing.T) {
	d := serve(t, servertest.New())
	heap := func() uint64 {
		var m runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&m)
		return m.HeapInuse + m.StackInuse
	}
	before := heap()
	wires := make([]*wire, 1000)
	for i := range wires {
		wires[i] = opened(t, d.Socket)
	}
	waitFor(t, "1000 connections", func() bool { return d.Server.Connections() == 1000 })
	each := (heap() - before) / 1000
	t.Logf("%d bytes per idle connection, the test's end included", each)
	if each > 32<<10 {
		t.Errorf("an idle connection takes %d bytes", each)
	}
	alive(t, d)
	for _, w := range wires {
		_ = w.nc.Close()
	}
	waitFor(t, "no connections", func() bool { return d.Server.Connections() <= 1 })
}

// stuck makes a fake whose calls of one kind wait until release is called.
func stuck(call string) (f *servertest.Fake, begun *atomic.Int32, release func()) {
	f = servertest.New()
	f.AddDomains(1)
	gate := make(chan struct{})
	begun = new(atomic.Int32)
	f.Block = func(c string) error {
		if c == call {
			begun.Add(1)
			<-gate
		}
		return nil
	}
	return f, begun, func() { close(gate) }
}

var guest = remote.Domain{Name: "guest0000", UUID: spec.UUID{0: 0xfa}, ID: -1}

func TestStuckCallsHoldUpNeitherQuickNorPriorityCallsOfTheSameClient(t *testing.T) {
	t.Parallel()
	f, begun, release := stuck("StartDomain")
	d := serve(t, f)
	w := opened(t, d.Socket)
	for i := range uint32(64) {
		w.send(callHeader(remote.ProcDomainCreate, 100+i), &guest)
	}
	waitFor(t, "64 stuck calls", func() bool { return begun.Load() == 64 })
	w.must(remote.ProcDomainGetInfo, &guest, &remote.DomainInfo{})                             // quick
	w.must(remote.ProcDomainSetAutostart, &remote.DomainInt{Domain: guest, N: 1}, &xdr.Void{}) // priority
	w.send(callHeader(remote.ProcDomainCreate, 200), &guest)                                   // the 65th is not read on
	alive(t, d)
	if n := begun.Load(); n != 64 {
		t.Errorf("%d calls of one client run at once, want 64", n)
	}
	release()
	for range 65 {
		w.message()
	}
}

func TestPanicBecomesTheErrorOfThatCallAlone(t *testing.T) {
	t.Parallel()
	f := servertest.New()
	f.Block = func(call string) error {
		if call == "Capabilities" {
			panic("boom")
		}
		return nil
	}
	w := opened(t, serve(t, f).Socket)
	if err := w.call(remote.ProcConnectGetCapabilities, &xdr.Void{}, &remote.String{}); virterr.CodeOf(err) != virterr.InternalError {
		t.Errorf("got %v, want VIR_ERR_INTERNAL_ERROR", err)
	}
	w.must(remote.ProcConnectGetHostname, &xdr.Void{}, &remote.String{})
}

func TestErrorWithoutCodeBecomesInternalError(t *testing.T) {
	t.Parallel()
	f := servertest.New()
	f.Block = func(string) error { return errors.New("disk full") }
	w := opened(t, serve(t, f).Socket)
	err := w.call(remote.ProcConnectGetCapabilities, &xdr.Void{}, &remote.String{})
	if want := "internal error: disk full"; err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
}

func TestClientThatDoesNotReadItsEventsIsDisconnectedAndOthersAreNot(t *testing.T) {
	t.Parallel()
	f := servertest.New()
	f.AddDomains(1)
	d := servertest.Serve(t, server.Options{Backend: f, EventQueue: 2000})
	lazy, eager := opened(t, d.Socket), opened(t, d.Socket)
	for _, w := range []*wire{lazy, eager} {
		w.must(remote.ProcConnectDomainEventCallbackRegisterAny, &remote.DomainEventRegister{}, &remote.Int{})
	}
	got := make(chan struct{})
	const events = 20000
	go func() {
		defer close(got)
		for range events {
			if _, _, err := eager.receive(); err != nil {
				t.Errorf("the client that reads: %v", err)
				return
			}
		}
	}()
	dom, _ := f.DomainByName("guest0000")
	for i := range events {
		f.Emit(server.DomainLifecycle{Domain: dom, Event: server.EventStarted})
		if i%100 == 0 {
			<-time.After(time.Millisecond) // the reader's turn: two processors for everybody
		}
	}
	<-got
	waitFor(t, "the lazy client to be dropped", func() bool { return d.Server.Connections() == 1 })
}

// refused reports whether nobody listens.
func refused(socket string) bool {
	nc, err := net.Dial("unix", socket)
	if err == nil {
		_ = nc.Close()
	}
	return err != nil
}

func TestSilentClientIsDisconnectedOnceItSaidThatItUnderstandsKeepalive(t *testing.T) {
	t.Parallel()
	d := servertest.Serve(t, server.Options{Backend: servertest.New(), KeepaliveInterval: 20 * time.Millisecond, KeepaliveCount: 3})
	mute, old, live := opened(t, d.Socket), opened(t, d.Socket), opened(t, d.Socket)
	for _, w := range []*wire{mute, live} {
		w.must(remote.ProcConnectSupportsFeature, &remote.Int{N: 10}, &remote.Int{})
	}
	pings := 0
	for {
		h, _, err := mute.receive()
		if err != nil {
			break
		}
		if h.Program != remote.ProgramKeepalive || h.Procedure != remote.KeepalivePing || h.Type != remote.Message || h.Serial != 0 {
			t.Fatalf("unexpected message %+v", h)
		}
		pings++
		// The live client was asked as often, and answers.
		if h, _ := live.message(); h.Procedure == remote.KeepalivePing {
			h.Procedure = remote.KeepalivePong
			live.write(remote.AppendRaw(nil, h, nil))
		}
	}
	if pings != 3 {
		t.Errorf("mute client was asked %d times, want 3", pings)
	}
	old.must(remote.ProcConnectGetHostname, &xdr.Void{}, &remote.String{})
	live.write(remote.AppendRaw(nil, remote.Header{Program: remote.ProgramKeepalive, Version: 1, Procedure: remote.KeepalivePing, Type: remote.Message}, nil))
	for {
		if h, _ := live.message(); h.Procedure == remote.KeepalivePong {
			break
		}
	}
}

func TestShutdownLetsCallsFinishAndThenCancelsThem(t *testing.T) {
	t.Parallel()
	f, begun, release := stuck("StartDomain")
	d := serve(t, f)
	w := opened(t, d.Socket)
	w.send(callHeader(remote.ProcDomainCreate, 1), &guest)
	waitFor(t, "the call", func() bool { return begun.Load() == 1 })
	ended := make(chan error, 1)
	go func() { ended <- d.Server.Shutdown(context.Background()) }()
	waitFor(t, "new clients to be refused", func() bool { return d.Server.Connections() == 1 && refused(d.Socket) })
	release()
	if h, _ := w.message(); h.Status != remote.OK || h.Serial != 1 {
		t.Errorf("the call that ran was answered with %+v", h)
	}
	if err := <-ended; err != nil {
		t.Errorf("shutdown: %v", err)
	}
	w.closed()
}

func TestRegistrationsDuringAFloodOfEventsDoNotDeadlock(t *testing.T) {
	t.Parallel()
	f := servertest.New()
	f.AddDomains(1)
	d := servertest.Serve(t, server.Options{Backend: f, EventQueue: 1 << 20})
	dom, _ := f.DomainByName("guest0000")
	done := make(chan struct{})
	var flood, clients sync.WaitGroup
	flood.Go(func() {
		for {
			select {
			case <-done:
				return
			default:
				f.Emit(server.DomainReboot{Domain: dom}) // nobody asked for these: only locks are contended
				runtime.Gosched()
			}
		}
	})
	for range 4 {
		clients.Go(func() {
			w := opened(t, d.Socket)
			for range 30 {
				var id remote.Int
				w.must(remote.ProcConnectDomainEventCallbackRegisterAny, &remote.DomainEventRegister{Domain: &guest}, &id)
				w.must(remote.ProcConnectDomainEventCallbackDeregisterAny, &id, &xdr.Void{})
			}
		})
	}
	clients.Wait() // or the sockets' deadlines end them
	close(done)
	flood.Wait()
}
