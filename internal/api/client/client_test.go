package client_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"taproom/internal/api/client"
	"taproom/internal/api/own"
	"taproom/internal/api/remote"
	"taproom/internal/api/server"
	"taproom/internal/api/server/servertest"
	"taproom/internal/api/virterr"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const guestXML = "<domain type='qemu'><name>guest</name><uuid>11111111-2222-3333-4444-555555555555</uuid><memory>1024</memory><vcpu>1</vcpu></domain>"

func connect(t *testing.T, f *servertest.Fake) (*client.Client, *servertest.Daemon) {
	t.Helper()
	d := servertest.Serve(t, server.Options{Backend: f})
	return dial(t, d), d
}

func dial(t *testing.T, d *servertest.Daemon) *client.Client {
	t.Helper()
	c, err := client.Dial(t.Context(), d.Socket, client.Options{Keepalive: time.Second})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	return c
}

func must[T any](t *testing.T) func(v T, err error) T {
	return func(v T, err error) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
}

func check(t *testing.T, errs ...error) {
	t.Helper()
	if err := errors.Join(errs...); err != nil {
		t.Fatal(err)
	}
}

func TestDomainLivesItsLifeAndTheEventsTellIt(t *testing.T) {
	t.Parallel()
	c, _ := connect(t, servertest.New())
	ctx := t.Context()
	events, cancel, err := c.Lifecycle(ctx)
	check(t, err)
	d := must[remote.Domain](t)(c.DefineDomain(ctx, guestXML))
	run := must[remote.Domain](t)(c.StartDomain(ctx, d, server.StartPaused))
	check(t, c.ResumeDomain(ctx, run), c.SuspendDomain(ctx, run))
	state := must[remote.DomainState](t)(c.DomainState(ctx, run))
	info := must[remote.DomainInfo](t)(c.DomainInfo(ctx, run))
	list := must[[]remote.Domain](t)(c.Domains(ctx, server.ListPaused))
	addrs := must[[]remote.InterfaceAddresses](t)(c.InterfaceAddresses(ctx, run, 0))
	byUUID := must[remote.Domain](t)(c.Domain(ctx, d.UUID.String()))
	doc := must[string](t)(c.DomainXML(ctx, d, server.XMLInactive))
	check(t, c.DestroyDomain(ctx, run), c.UndefineDomain(ctx, d, 0))
	type seen struct {
		State  remote.DomainState
		Info   remote.DomainInfo
		List   []remote.Domain
		Addrs  int
		ByUUID remote.Domain
		Doc    string
	}
	want := seen{
		remote.DomainState{State: server.DomainPaused, Reason: server.PausedUser},
		remote.DomainInfo{State: server.DomainPaused, MaxMem: 1024, Memory: 1024, VCPUs: 1, CPUTime: 1500000000},
		[]remote.Domain{run},
		1, run, guestXML,
	}
	if diff := cmp.Diff(want, seen{state, info, list, len(addrs), byUUID, doc}); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	var got [][2]int32
	for range 7 {
		e := (<-events).(client.DomainLifecycle)
		got = append(got, [2]int32{e.Event, e.Detail})
	}
	if diff := cmp.Diff([][2]int32{{0, 0}, {2, 0}, {3, 0}, {4, 0}, {3, 0}, {5, 1}, {1, 0}}, got); diff != "" {
		t.Errorf("events (-want +got):\n%s", diff)
	}
	check(t, cancel(ctx))
	if _, open := <-events; open {
		t.Error("channel is still open after cancel")
	}
}

func TestNetworksAndTheirEvents(t *testing.T) {
	t.Parallel()
	f := servertest.New()
	c, _ := connect(t, f)
	events, _, err := c.NetworkLifecycle(t.Context())
	check(t, err)
	n := must[server.Network](t)(f.DefineNetwork(t.Context(), "<network><name>lan</name><bridge name='br7'/></network>", 0))
	if e := (<-events).(client.NetworkLifecycle); e.Network.Name != "lan" || e.Event != server.NetworkEventDefined {
		t.Errorf("event is %+v", e)
	}
	found := must[remote.Network](t)(c.Network(t.Context(), "lan"))
	if found.UUID != n.UUID {
		t.Errorf("found %+v", found)
	}
	if l := must[[]remote.Lease](t)(c.Leases(t.Context(), found)); len(l) != 1 || l[0].Addr != "192.168.122.2" {
		t.Errorf("leases are %+v", l)
	}
	if l := must[[]remote.Network](t)(c.Networks(t.Context(), 0)); len(l) != 1 {
		t.Errorf("networks are %+v", l)
	}
}

func TestErrorsKeepTheirCode(t *testing.T) {
	t.Parallel()
	c, _ := connect(t, servertest.New())
	_, err := c.Domain(t.Context(), "missing")
	if !errors.Is(err, virterr.New(virterr.NoDomain, "")) || err.Error() != "Domain not found: no domain with matching name 'missing'" {
		t.Errorf("got %v", err)
	}
	_, err = c.Trace(t.Context(), "missing")
	if virterr.CodeOf(err) != virterr.NoDomain {
		t.Errorf("own program: got %v", err)
	}
}

func TestOwnProgramCarriesDocuments(t *testing.T) {
	t.Parallel()
	f := servertest.New()
	f.AddDomains(1)
	c, _ := connect(t, f)
	ctx := t.Context()
	type all struct {
		Apply   own.ApplyResult
		Plan    own.PlanResult
		Status  own.Status
		Trace   own.Trace
		Agent   string
		Version own.Version
	}
	got := all{
		must[own.ApplyResult](t)(c.Apply(ctx, own.ApplyRequest{Documents: []own.Document{{Name: "guest.xml", XML: guestXML}}})),
		must[own.PlanResult](t)(c.Plan(ctx)),
		must[own.Status](t)(c.Status(ctx)),
		must[own.Trace](t)(c.Trace(ctx, "guest0000")),
		string(must[json.RawMessage](t)(c.Agent(ctx, "guest0000", json.RawMessage(`{"ping":1}`)))),
		must[own.Version](t)(c.Version(ctx)),
	}
	want := all{
		own.ApplyResult{Objects: []own.ObjectResult{{Kind: "domain", Name: "guest.xml", Action: "created"}}},
		own.PlanResult{Steps: []own.Step{{Object: "network default", Command: "ip link add virbr0 type bridge"}}},
		own.Status{Domains: []own.DomainStatus{{Name: "guest0000", UUID: "fa000000-0000-0000-0000-000000000000", ID: -1}}},
		own.Trace{Domain: "guest0000", Began: "1970-01-01T00:00:00Z", Spans: []own.Span{{Name: "exec", Took: 9000}}},
		`{"ping":1}`,
		own.Version{Version: "v0-fake", Protocol: 1},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestCallsOfManyGoroutinesDoNotMixUp(t *testing.T) {
	t.Parallel()
	f := servertest.New()
	f.AddDomains(50)
	c, _ := connect(t, f)
	var wg sync.WaitGroup
	for _, d := range f.ListDomains(nil) {
		wg.Go(func() {
			for range 20 {
				got, err := c.Domain(t.Context(), d.Name)
				if err != nil || got.UUID != d.UUID {
					t.Errorf("%s: got %+v, %v", d.Name, got, err)
				}
			}
		})
	}
	wg.Wait()
}

func TestCallEndsWithItsContextAndTheConnectionGoesOn(t *testing.T) {
	t.Parallel()
	f := servertest.New()
	gate := make(chan struct{})
	f.Block = func(call string) error {
		if call == "Plan" {
			<-gate
		}
		return nil
	}
	c, _ := connect(t, f)
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	if _, err := c.Plan(ctx); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("got %v", err)
	}
	close(gate)
	check(t, second(c.Version(t.Context())))
}

func second(_ own.Version, err error) error { return err }

func TestEverythingEndsWhenTheDaemonGoes(t *testing.T) {
	t.Parallel()
	here, there := net.Pipe()
	go func() { // a daemon that opens, and goes
		for range 3 {
			head := make([]byte, remote.HeaderSize)
			if _, err := io.ReadFull(there, head); err != nil {
				return
			}
			size := int(head[2])<<8 | int(head[3])
			_, _ = io.ReadFull(there, make([]byte, size-len(head)))
			h := remote.ParseHeader(head)
			h.Type = remote.Reply
			var body []byte
			switch h.Procedure {
			case remote.ProcAuthList:
				body = []byte{0, 0, 0, 1, 0, 0, 0, 0}
			case remote.ProcConnectSupportsFeature:
				body = []byte{0, 0, 0, 1}
			}
			_, _ = there.Write(remote.AppendRaw(nil, h, body))
		}
		_, _ = io.ReadFull(there, make([]byte, remote.HeaderSize))
		_ = there.Close()
	}()
	c, err := client.New(t.Context(), here, client.Options{})
	check(t, err)
	if _, err := c.Plan(t.Context()); err == nil {
		t.Error("call succeeded without a daemon")
	}
	if _, err := c.Plan(t.Context()); err == nil {
		t.Error("second call succeeded without a daemon")
	}
	check(t, c.Close())
}

func TestConsoleCarriesBytesBothWaysAndEndsWithTheGuest(t *testing.T) {
	t.Parallel()
	f := servertest.New()
	f.AddDomains(1)
	guestSide := make(chan net.Conn, 1)
	f.Console = func() (io.ReadWriteCloser, error) {
		a, b := net.Pipe()
		guestSide <- b
		return a, nil
	}
	c, _ := connect(t, f)
	d := must[remote.Domain](t)(c.Domain(t.Context(), "guest0000"))
	d = must[remote.Domain](t)(c.StartDomain(t.Context(), d, 0))
	s := must[*client.Stream](t)(c.OpenConsole(t.Context(), d, "", 0))
	guest := <-guestSide
	sent := bytes.Repeat([]byte("0123456789abcdef"), 20000)
	var wg sync.WaitGroup
	wg.Go(func() {
		got := make([]byte, len(sent))
		if _, err := io.ReadFull(guest, got); err != nil || !bytes.Equal(got, sent) {
			t.Errorf("guest read other bytes: %v", err)
		}
		_, _ = guest.Write(sent)
		_ = guest.Close()
	})
	_ = must[int](t)(s.Write(sent))
	got := must[[]byte](t)(io.ReadAll(s))
	if !bytes.Equal(got, sent) {
		t.Errorf("read %d bytes that differ from the %d sent", len(got), len(sent))
	}
	check(t, s.Close())
	wg.Wait()
	check(t, second(c.Version(t.Context())))
}

func TestGuestThatDoesNotReadItsConsoleLosesTheStreamAlone(t *testing.T) {
	t.Parallel()
	f := servertest.New()
	f.AddDomains(1)
	f.Console = func() (io.ReadWriteCloser, error) {
		a, _ := net.Pipe() // nobody reads the other end
		return a, nil
	}
	c, _ := connect(t, f)
	d := must[remote.Domain](t)(c.Domain(t.Context(), "guest0000"))
	d = must[remote.Domain](t)(c.StartDomain(t.Context(), d, 0))
	s := must[*client.Stream](t)(c.OpenConsole(t.Context(), d, "", 0))
	_, _ = s.Write(make([]byte, 2<<20)) // may itself report the end of the stream
	_, err := s.Read(make([]byte, 1))
	if virterr.CodeOf(err) != virterr.OperationFailed {
		t.Errorf("got %v, want VIR_ERR_OPERATION_FAILED", err)
	}
	check(t, s.Close(), second(c.Version(t.Context())))
}

func TestConsoleOfAGuestThatDoesNotRunIsRefused(t *testing.T) {
	t.Parallel()
	f := servertest.New()
	f.AddDomains(1)
	c, _ := connect(t, f)
	d := must[remote.Domain](t)(c.Domain(t.Context(), "guest0000"))
	if _, err := c.OpenConsole(t.Context(), d, "", 0); virterr.CodeOf(err) != virterr.OperationInvalid {
		t.Errorf("got %v", err)
	}
}
