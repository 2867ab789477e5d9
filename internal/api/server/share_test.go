package server_test

import (
	"context"
	"io"
	"log/slog"
	"strings"
	"testing"

	"taproom/internal/api/remote"
	"taproom/internal/api/server"
	"taproom/internal/api/server/servertest"
	"taproom/internal/api/xdr"
)

// held is a backend that makes a reply of 1 MiB when it may, and one of 1.5 MiB at once.
type held struct {
	*servertest.Fake
	entered, proceed chan struct{}
}

func (h held) Sysinfo(context.Context) (string, error) {
	h.entered <- struct{}{}
	<-h.proceed
	return strings.Repeat("x", 1<<20), nil
}

func (h held) Capabilities(context.Context) (string, error) { return strings.Repeat("x", 3<<19), nil }

// serveShare serves with memory for one of both replies, and gives a client two calls that wait: one without an answer, and
// one whose reply is larger than expected.
func serveShare(t *testing.T) (h held, d *servertest.Daemon, w *wire, log *lockedBuffer) {
	h = held{servertest.New(), make(chan struct{}), make(chan struct{})}
	h.AddDomains(1)
	ended := make(chan struct{})
	h.Block = func(call string) error {
		if call == "StartDomain" {
			h.entered <- struct{}{}
			<-ended
		}
		return nil
	}
	log = new(lockedBuffer)
	d = servertest.Serve(t, server.Options{Backend: h, Log: slog.New(slog.NewTextHandler(log, nil)), Limits: server.Limits{ReplyBytes: 4 << 20}})
	t.Cleanup(func() { close(ended) }) // before the server's
	w = opened(t, d.Socket)
	w.send(callHeader(remote.ProcDomainCreate, 6), &guest)
	<-h.entered
	w.send(callHeader(remote.ProcConnectGetSysinfo, 7), &remote.Uint{})
	<-h.entered
	return h, d, w, log
}

// A client that reads gets its reply although another one of its user has the memory: it waits until that one has read.
func TestReplies_OfAClientThatReadsWaitForThoseOfOthers(t *testing.T) {
	t.Parallel()
	h, d, w, log := serveShare(t)
	other := opened(t, d.Socket)
	other.send(callHeader(remote.ProcConnectGetCapabilities, 9), &xdr.Void{})
	waitFor(t, "the other client to have the memory", func() bool { return d.Server.LargeReplies() > 3<<19 })
	close(h.proceed)
	waitFor(t, "the reply to wait", func() bool { return d.Server.AwaitingReplyBytes() > 0 })
	go func() { _, _ = io.Copy(io.Discard, other.nc) }()
	if got, body := w.message(); got.Serial != 7 || got.Status != remote.OK || len(body) < 1<<20 {
		t.Errorf("got %+v with %d bytes", got, len(body))
	}
	if said := log.String(); strings.Contains(said, "large calls than it reads") {
		t.Errorf("the client was disconnected: %s", said)
	}
}

// A client that holds the memory itself and reads nothing is disconnected: what it has had made and waits is not counted.
func TestReplies_OfAClientThatHoldsTheMemoryAndDoesNotReadEndIt(t *testing.T) {
	t.Parallel()
	h, d, w, log := serveShare(t)
	w.send(callHeader(remote.ProcConnectGetCapabilities, 9), &xdr.Void{})
	waitFor(t, "the client to have the memory", func() bool { return d.Server.LargeReplies() > 3<<19 })
	close(h.proceed)
	waitFor(t, "the client to be cut", func() bool { return strings.Contains(log.String(), "disconnecting it") })
	waitFor(t, "the memory to be free", func() bool { return d.Server.LargeReplies() == 0 })
}

// A call whose result is a domain's handle waits for no turn to make large replies, which many at once would after a start.
func TestReplies_AboutOneObjectTakeNoTurn(t *testing.T) {
	t.Parallel()
	f := servertest.New()
	d := serve(t, f)
	w := opened(t, d.Socket)
	defer d.Server.HoldTurns()()
	w.must(remote.ProcDomainCreateXML, &remote.StringFlags{S: "<domain type='qemu'><name>g</name><memory>1</memory><vcpu>1</vcpu></domain>"}, &remote.Domain{})
}
