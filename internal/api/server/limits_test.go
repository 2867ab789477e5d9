package server_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"io"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"taproom/internal/api/remote"
	"taproom/internal/api/server"
	"taproom/internal/api/server/servertest"
	"taproom/internal/api/virterr"
	"taproom/internal/api/xdr"
)

// sized is a message of so many bytes that opens the connection; what is behind its arguments is ignored.
func sized(n int) []byte {
	b := remote.AppendRaw(nil, callHeader(remote.ProcConnectOpen, 9), make([]byte, n-remote.HeaderSize))
	if got := int(binary.BigEndian.Uint32(b)); got != n {
		panic(got)
	}
	return b
}

func TestLargeMessages_AreRefusedOnTheReadOnlySocketAndReadOnTheOther(t *testing.T) {
	t.Parallel()
	d := serve(t, servertest.New())
	for _, size := range []int{server.FreeMessage, server.FreeMessage + 1, 1 << 20, remote.MaxMessage} {
		for socket, mayWrite := range map[string]bool{d.Socket: true, d.RO: false} {
			w := dial(t, socket)
			w.write(sized(size))
			h, body := w.message()
			switch {
			case h.Serial != 9:
				t.Errorf("%d bytes: answered with %+v", size, h)
			case mayWrite || size <= server.FreeMessage:
				if h.Status != remote.OK {
					t.Errorf("%d bytes: %v", size, w.failure(body))
				}
			default:
				err := w.failure(body)
				if virterr.CodeOf(err) != virterr.OperationDenied || !strings.Contains(err.Error(), "at most 65536 are read") {
					t.Errorf("%d bytes on the read-only socket: %v", size, err)
				}
				w.must(remote.ProcConnectOpen, &remote.OptStringFlags{}, &xdr.Void{}) // the connection goes on
			}
		}
	}
}

func TestLargeMessages_OfOneUserAreReadOneAfterTheOtherWithinTheBudget(t *testing.T) {
	t.Parallel()
	d := servertest.Serve(t, server.Options{Backend: servertest.New(), Limits: server.Limits{MessageBytes: 2 << 20}})
	msg := sized(1 << 20)
	first, second := dial(t, d.Socket), dial(t, d.Socket)
	first.write(msg[:len(msg)-1]) // holds all of a user's share; what does not fit into the socket has been read
	var wg sync.WaitGroup
	wg.Go(func() { _, _ = second.nc.Write(msg) })
	alive(t, d)
	first.write(msg[len(msg)-1:])
	for _, w := range []*wire{first, second} {
		if h, body := w.message(); h.Status != remote.OK {
			t.Errorf("%v", w.failure(body))
		}
	}
	wg.Wait()
}

// bulky is a backend with an answer of 1 MiB.
type bulky struct {
	*servertest.Fake
	made *atomic.Int32
}

func (b bulky) Sysinfo(context.Context) (string, error) {
	b.made.Add(1)
	return strings.Repeat("x", 1<<20), nil
}

// A client that makes many large calls and reads nothing has one reply made; the others wait.
func TestReplies_AreNotMadeForAClientThatDoesNotRead(t *testing.T) {
	t.Parallel()
	f := bulky{servertest.New(), new(atomic.Int32)}
	d := servertest.Serve(t, server.Options{Backend: f})
	w := opened(t, d.Socket)
	w.send(callHeader(remote.ProcConnectGetSysinfo, 7), &remote.Uint{})
	var head [remote.HeaderSize]byte
	if _, err := io.ReadFull(w.nc, head[:]); err != nil { // from here on the first reply is being written
		t.Fatal(err)
	}
	const more = 50
	for range more {
		w.send(callHeader(remote.ProcConnectGetSysinfo, 7), &remote.Uint{})
	}
	alive(t, d)
	if n := f.made.Load(); n != 1 {
		t.Errorf("%d replies were made, and none was read", n)
	}
	if _, err := io.CopyN(io.Discard, w.nc, int64(binary.BigEndian.Uint32(head[:]))-remote.HeaderSize); err != nil {
		t.Fatal(err)
	}
	for range more {
		if h, body := w.message(); h.Status != remote.OK || len(body) < 1<<20 {
			t.Fatalf("got %+v with %d bytes", h, len(body))
		}
	}
}

func TestReplies_OfAClientThatDoesNotReadAreGivenUpWhereOthersNeedTheMemory(t *testing.T) {
	t.Parallel()
	f := bulky{servertest.New(), new(atomic.Int32)}
	var log lockedBuffer
	d := servertest.Serve(t, server.Options{Backend: f, Log: slog.New(slog.NewTextHandler(&log, nil)), Limits: server.Limits{ReplyBytes: 1 << 20}})
	mute := opened(t, d.Socket)
	mute.send(callHeader(remote.ProcConnectGetSysinfo, 7), &remote.Uint{})
	waitFor(t, "the reply to be under way", func() bool { return d.Server.LargeReplies() > 1<<20 })
	opened(t, d.Socket).must(remote.ProcConnectGetSysinfo, &remote.Uint{}, &remote.String{})
	waitFor(t, "the client that does not read to be cut", func() bool { return strings.Contains(log.String(), "client does not read its replies") })
	if said := log.String(); !strings.Contains(said, "uid=0") || !strings.Contains(said, "pid=") {
		t.Errorf("whose it was is not said: %s", said)
	}
}

type lockedBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (b *lockedBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.Write(p)
}

func (b *lockedBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.String()
}

func TestConnections_AreBoundedInNumber(t *testing.T) {
	t.Parallel()
	var log lockedBuffer
	d := servertest.Serve(t, server.Options{Backend: servertest.New(), Log: slog.New(slog.NewTextHandler(&log, nil)), Limits: server.Limits{Clients: 3}})
	var conns []*wire
	for range 3 {
		conns = append(conns, opened(t, d.Socket))
	}
	dial(t, d.Socket).closed()
	waitFor(t, "the log to say which limit it is", func() bool { return strings.Contains(log.String(), "max_clients") })
	_ = conns[0].nc.Close()
	waitFor(t, "the connection to be gone", func() bool { return d.Server.Connections() == 2 })
	alive(t, d)
}
