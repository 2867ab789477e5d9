package server_test

import (
	"encoding/binary"
	"errors"
	"io"
	"net"
	"os"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"taproom/internal/api/remote"
	"taproom/internal/api/server"
	"taproom/internal/api/server/servertest"
	"taproom/internal/api/virterr"
	"taproom/internal/api/xdr"
	"taproom/internal/host/hosttest"
)

// wire is a client that knows no more than bytes.
type wire struct {
	t  testing.TB
	nc net.Conn
}

// dial connects without saying anything.
func dial(t testing.TB, socket string) *wire {
	t.Helper()
	nc, err := net.Dial("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = nc.Close() })
	_ = nc.SetDeadline(time.Now().Add(hosttest.Patience))
	return &wire{t, nc}
}

// opened connects and opens.
func opened(t testing.TB, socket string) *wire {
	t.Helper()
	w := dial(t, socket)
	w.must(remote.ProcConnectOpen, &remote.OptStringFlags{S: remote.Opt("qemu:///system")}, &xdr.Void{})
	return w
}

func (w *wire) write(b []byte) {
	w.t.Helper()
	if _, err := w.nc.Write(b); err != nil {
		w.t.Fatal(err)
	}
}

func (w *wire) send(h remote.Header, v xdr.Value) {
	w.t.Helper()
	b, err := remote.Append(nil, h, v)
	if err != nil {
		w.t.Fatal(err)
	}
	w.write(b)
}

// receive returns one message.
func (w *wire) receive() (remote.Header, []byte, error) {
	var head [remote.HeaderSize]byte
	if _, err := io.ReadFull(w.nc, head[:]); err != nil {
		return remote.Header{}, nil, err
	}
	body := make([]byte, binary.BigEndian.Uint32(head[:])-remote.HeaderSize)
	_, err := io.ReadFull(w.nc, body)
	return remote.ParseHeader(head[:]), body, err
}

// message returns one message that must come.
func (w *wire) message() (remote.Header, []byte) {
	w.t.Helper()
	h, body, err := w.receive()
	if err != nil {
		w.t.Fatal(err)
	}
	return h, body
}

func callHeader(procedure, serial uint32) remote.Header {
	return remote.Header{Program: remote.ProgramRemote, Version: 1, Procedure: procedure, Serial: serial}
}

// call makes a call of libvirt's program and returns its error.
func (w *wire) call(procedure uint32, args, ret xdr.Value) error {
	w.t.Helper()
	w.send(callHeader(procedure, 7), args)
	h, body := w.message()
	if h.Type != remote.Reply || h.Serial != 7 || h.Procedure != procedure {
		w.t.Fatalf("reply has header %+v", h)
	}
	if h.Status == remote.OK {
		return xdr.Decode(body, ret)
	}
	return w.failure(body)
}

func (w *wire) failure(body []byte) error {
	w.t.Helper()
	var e remote.Error
	if err := xdr.Decode(body, &e); err != nil {
		w.t.Fatal(err)
	}
	return e.Err()
}

func (w *wire) must(procedure uint32, args, ret xdr.Value) {
	w.t.Helper()
	if err := w.call(procedure, args, ret); err != nil {
		w.t.Fatalf("procedure %d: %v", procedure, err)
	}
}

// closed fails unless the server ends the connection.
func (w *wire) closed() {
	w.t.Helper()
	_, _, err := w.receive()
	if err == nil || errors.Is(err, os.ErrDeadlineExceeded) {
		w.t.Fatalf("connection is still open: %v", err)
	}
}

func serve(t testing.TB, f *servertest.Fake) *servertest.Daemon {
	t.Helper()
	return servertest.Serve(t, server.Options{Backend: f})
}

// alive fails unless another client is served.
func alive(t *testing.T, d *servertest.Daemon) {
	t.Helper()
	var name remote.String
	opened(t, d.Socket).must(remote.ProcConnectGetHostname, &xdr.Void{}, &name)
	if name.S != "host.example" {
		t.Errorf("host name is %q", name.S)
	}
}

func TestMessageOfImpossibleLengthEndsTheConnectionAlone(t *testing.T) {
	t.Parallel()
	d := serve(t, servertest.New())
	for _, length := range []uint32{0, 4, 27, remote.MaxMessage + 1, 0xffffffff} {
		w := opened(t, d.Socket)
		w.write(binary.BigEndian.AppendUint32(nil, length))
		w.closed()
	}
	alive(t, d)
}

func TestMessageThatStopsHalfWayEndsTheConnection(t *testing.T) {
	t.Parallel()
	d := servertest.Serve(t, server.Options{Backend: servertest.New(), MessageTimeout: 50 * time.Millisecond})
	whole, err := remote.Append(nil, callHeader(remote.ProcConnectGetHostname, 1), &xdr.Void{})
	if err != nil {
		t.Fatal(err)
	}
	large := remote.AppendRaw(nil, callHeader(remote.ProcDomainDefineXML, 1), make([]byte, 20<<20))
	for _, part := range [][]byte{whole[:1], whole[:4], whole[:14], large[:100], large[:1<<20]} {
		w := opened(t, d.Socket)
		if _, err := w.nc.Write(part); err != nil && !errors.Is(err, unix.EPIPE) && !errors.Is(err, unix.ECONNRESET) {
			t.Fatal(err) // a busy machine may send the end of a long part too late: then the connection has ended as it should
		}
		w.closed()
	}
	alive(t, d)
}

func TestConnectionThatIsSilentBetweenMessagesStaysOpen(t *testing.T) {
	t.Parallel()
	d := servertest.Serve(t, server.Options{Backend: servertest.New(), MessageTimeout: 20 * time.Millisecond})
	w := opened(t, d.Socket)
	b, err := remote.Append(nil, callHeader(remote.ProcConnectGetHostname, 1), &xdr.Void{})
	if err != nil {
		t.Fatal(err)
	}
	w.write(b[:9]) // sets the deadline
	w.write(b[9:])
	w.message()
	timer := time.NewTimer(100 * time.Millisecond)
	<-timer.C
	w.must(remote.ProcConnectGetHostname, &xdr.Void{}, &remote.String{})
}

func TestBadCallIsAnsweredWithAnErrorAndTheConnectionGoesOn(t *testing.T) {
	t.Parallel()
	d := serve(t, servertest.New())
	w := opened(t, d.Socket)
	ok := callHeader(remote.ProcDomainLookupByName, 9)
	change := func(f func(*remote.Header)) remote.Header { h := ok; f(&h); return h }
	for _, c := range []struct {
		name string
		h    remote.Header
		body []byte
		code virterr.Code
	}{
		{"unknown program", change(func(h *remote.Header) { h.Program = 0x12345678 }), nil, virterr.RPC},
		{"unknown version", change(func(h *remote.Header) { h.Version = 2 }), nil, virterr.RPC},
		{"unknown procedure", change(func(h *remote.Header) { h.Procedure = 411 }), nil, virterr.NoSupport},
		{"huge procedure", change(func(h *remote.Header) { h.Procedure = 0xffffffff }), nil, virterr.NoSupport},
		{"event number as a call", change(func(h *remote.Header) { h.Procedure = remote.ProcDomainEventCallbackLifecycle }), nil, virterr.NoSupport},
		{"procedure of the QEMU program", change(func(h *remote.Header) { h.Program = remote.ProgramQEMU; h.Procedure = 2 }), nil, virterr.NoSupport},
		{"unexpected type", change(func(h *remote.Header) { h.Type = remote.Reply }), nil, virterr.RPC},
		{"unknown type", change(func(h *remote.Header) { h.Type = 77 }), nil, virterr.RPC},
		{"unexpected status", change(func(h *remote.Header) { h.Status = remote.Failed }), nil, virterr.RPC},
		{"no arguments", ok, nil, virterr.RPC},
		{"string longer than the message", ok, []byte{0, 0, 1, 0, 'a', 0, 0, 0}, virterr.RPC},
		{"string of 4 GiB", ok, []byte{0xff, 0xff, 0xff, 0xff}, virterr.RPC},
		{"trailing bytes are ignored", ok, []byte{0, 0, 0, 1, 'a', 0, 0, 0, 1}, virterr.NoDomain},
	} {
		w.write(remote.AppendRaw(nil, c.h, c.body))
		h, body := w.message()
		if h.Serial != 9 || h.Status != remote.Failed || h.Program != c.h.Program || h.Procedure != c.h.Procedure {
			t.Errorf("%s: reply has header %+v", c.name, h)
		}
		if err := w.failure(body); virterr.CodeOf(err) != c.code {
			t.Errorf("%s: got code %d (%v), want %d", c.name, virterr.CodeOf(err), err, c.code)
		}
	}
	w.must(remote.ProcConnectGetHostname, &xdr.Void{}, &remote.String{})
}

func TestFileDescriptorsThatWereNotOfferedEndTheConnection(t *testing.T) {
	t.Parallel()
	d := serve(t, servertest.New())
	w := opened(t, d.Socket)
	h := callHeader(309, 1)
	h.Type = remote.CallWithFDs
	w.write(remote.AppendRaw(nil, h, nil))
	w.closed()
}

func TestCallsBeforeOpenAreRefused(t *testing.T) {
	t.Parallel()
	d := serve(t, servertest.New())
	w := dial(t, d.Socket)
	want := "internal error: hypervisor connection not open"
	if err := w.call(remote.ProcConnectGetHostname, &xdr.Void{}, &remote.String{}); err == nil || err.Error() != want {
		t.Errorf("before open: got %v, want %s", err, want)
	}
	w.must(remote.ProcAuthList, &xdr.Void{}, &remote.Ints{})
	w.must(remote.ProcConnectSupportsFeature, &remote.Int{N: 10}, &remote.Int{})
	w.must(remote.ProcConnectOpen, &remote.OptStringFlags{}, &xdr.Void{})
	w.must(remote.ProcConnectClose, &xdr.Void{}, &xdr.Void{})
	if err := w.call(remote.ProcConnectGetHostname, &xdr.Void{}, &remote.String{}); err == nil || err.Error() != want {
		t.Errorf("after close: got %v, want %s", err, want)
	}
	err := w.call(remote.ProcConnectOpen, &remote.OptStringFlags{S: remote.Opt("xen:///system")}, &xdr.Void{})
	if virterr.CodeOf(err) != virterr.NoConnect {
		t.Errorf("open xen: got %v", err)
	}
}

func TestReadOnlyHoldsForEveryProcedureThatIsNotMarked(t *testing.T) {
	t.Parallel()
	d := serve(t, servertest.New())
	sockets := map[string]*wire{"read-only socket": opened(t, d.RO), "read-only flag": dial(t, d.Socket)}
	sockets["read-only flag"].must(remote.ProcConnectOpen, &remote.OptStringFlags{Flags: 1}, &xdr.Void{})
	for name, w := range sockets {
		for _, p := range remote.Procedures() {
			if p.Has(remote.ReadOnly) {
				continue
			}
			if err := w.call(p.Number, p.NewArgs(), p.NewRet()); virterr.CodeOf(err) != virterr.OperationDenied {
				t.Errorf("%s: %s: got %v, want VIR_ERR_OPERATION_DENIED", name, p.Name, err)
			}
		}
	}
}
