package vnetd

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"taproom/internal/host"
	"taproom/internal/network/helper"
	"taproom/internal/network/lease"
	"taproom/internal/network/packet"
)

// peer is a connection to a server that runs in the test's process.
type peer struct {
	t *testing.T
	c *net.UnixConn
}

// serveHere runs a server for the test and returns how to connect to it.
func serveHere(t *testing.T, o Options) func() peer {
	t.Helper()
	path := filepath.Join(t.TempDir(), "s")
	l, err := net.ListenUnix("unixpacket", &net.UnixAddr{Name: path, Net: "unixpacket"})
	must(t, err)
	f, err := l.File()
	must(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- Serve(ctx, f, o) }()
	t.Cleanup(func() {
		cancel()
		l.Close()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
	return func() peer {
		t.Helper()
		c, err := net.DialUnix("unixpacket", nil, &net.UnixAddr{Name: path, Net: "unixpacket"})
		must(t, err)
		t.Cleanup(func() { c.Close() })
		must(t, c.SetDeadline(time.Now().Add(time.Minute)))
		return peer{t, c}
	}
}

// say sends a message and returns what came back, or "hung up".
func (p peer) say(message string, files ...*os.File) string {
	p.t.Helper()
	must(p.t, host.New(host.Options{}).SendFiles(p.c, []byte(message), files...))
	return p.hear()
}

func (p peer) hear() string {
	p.t.Helper()
	b := make([]byte, helper.MaxMessage)
	n, err := p.c.Read(b)
	if n == 0 || err != nil {
		return "hung up"
	}
	return string(b[:n])
}

func TestRequestsThatCannotBeMetAreAnsweredWithTheReason(t *testing.T) {
	t.Parallel()
	p := serveHere(t, Options{
		Owner: uint32(os.Getuid()), Build: "b", Confined: Confined{Landlock: "enforced", Seccomp: "enforced"}, Clock: still(),
	})()
	null, err := os.Open(os.DevNull)
	must(t, err)
	defer null.Close()
	config, err := os.CreateTemp(t.TempDir(), "")
	must(t, err)
	defer config.Close()
	_, err = config.WriteString(`{"what": 1}`)
	must(t, err)
	const unknown = "00000000-0000-0000-0000-000000000000: no such network is being served"
	for _, c := range []struct {
		say   string
		files []*os.File
		want  string
	}{
		{`{"id":1,"op":"hello"}`, nil, fmt.Sprintf(`{"id":1,"hello":{"version":2,"build":"b","pid":%d,"landlock":"enforced","seccomp":"enforced"}}`, os.Getpid())},
		{`{"id":2,"op":"list"}`, nil, `{"id":2}`},
		{`{"id":3,"op":"remove"}`, nil, `{"id":3}`},
		{`{"id":8,"op":"lookup","name":"a"}`, nil, `{"id":8,"error":"lookup ` + unknown + `"}`},
		{`{"id":4,"op":"leases"}`, nil, `{"id":4,"error":"leases ` + unknown + `"}`},
		{`{"id":5,"op":"compact"}`, []*os.File{null}, `{"id":5,"error":"compact ` + unknown + `"}`},
		{`{"id":6,"op":"set"}`, []*os.File{null, null}, `{"id":6,"error":"set a network: 2 descriptors came with it, not 1"}`},
		{`{"id":7,"op":"set","new":["frames 1"]}`, []*os.File{config, null}, `{"id":7,"error":"read a configuration: json: unknown field \"what\""}`},
	} {
		if got := p.say(c.say, c.files...); got != c.want {
			t.Errorf("%s was answered with\n%s\nwant\n%s", c.say, got, c.want)
		}
	}
}

func TestWhoDoesNotSpeakTheProtocolIsHungUpOn(t *testing.T) {
	t.Parallel()
	connect := serveHere(t, Options{Owner: uint32(os.Getuid()), Clock: still()})
	null, err := os.Open(os.DevNull)
	must(t, err)
	defer null.Close()
	for _, junk := range []string{"hello", `{"op":"hello","more":1}`, strings.Repeat("x", helper.MaxMessage+1)} {
		if got := connect().say(junk, null); got != "hung up" {
			t.Errorf("%.40q was answered with %q", junk, got)
		}
	}
	many := make([]*os.File, helper.MaxFiles+1)
	for i := range many {
		many[i] = null
	}
	if got := connect().say(`{"op":"hello"}`, many...); got != "hung up" {
		t.Errorf("%d descriptors were answered with %q", len(many), got)
	}
	if got := connect().say(`{"id":1,"op":"list"}`); got != `{"id":1}` {
		t.Errorf("afterwards, a proper request was answered with %q", got)
	}
}

func TestOnlyTheOwnerMayConnectAndNotTooOften(t *testing.T) {
	t.Parallel()
	connect := serveHere(t, Options{Owner: uint32(os.Getuid()), Clock: still()})
	for range maxConnections {
		if got := connect().say(`{"id":1,"op":"list"}`); got != `{"id":1}` {
			t.Fatalf("answered with %q", got)
		}
	}
	if got := connect().hear(); got != "hung up" {
		t.Errorf("one connection too many got %q", got)
	}
	stranger := serveHere(t, Options{Owner: uint32(os.Getuid()) + 1, Clock: still()})
	if got := stranger().hear(); got != "hung up" {
		t.Errorf("another user's process got %q", got)
	}
}

func TestASlowReaderIsToldThatItMissedEvents(t *testing.T) {
	t.Parallel()
	c := &conn{events: make(chan helper.Event, 2), missed: make(chan struct{}, 1)}
	for range 4 {
		c.offer(helper.Event{Compact: true})
	}
	if len(c.events) != 2 || len(c.missed) != 1 {
		t.Errorf("%d events and %d notices wait, want 2 and 1", len(c.events), len(c.missed))
	}
}

func TestPagesOfLeasesFitIntoMessagesAndLeaveNoneOut(t *testing.T) {
	t.Parallel()
	for _, name := range []int{0, 255} {
		var all []lease.Record
		for i := range 2000 {
			l := still().Record(given(1))
			l.IP = netip.AddrFrom4([4]byte{172, 31, 200 + byte(i>>8), byte(i)})
			l.MAC, l.Expiry = packet.MAC{254, 255, 255, 255, 255, 255}, 1<<62
			l.IAID = 1<<32 - 1
			l.Hostname, l.ClientID = strings.Repeat("h", name), strings.Repeat("000", name)
			all = append(all, l)
		}
		var got []lease.Record
		q := helper.Request{}
		for {
			r := leases(all, q)
			r.ID = 1 << 63
			if b, err := json.Marshal(r); err != nil || len(b) > helper.MaxMessage || len(r.Leases) == 0 {
				t.Fatalf("a page of %d leases takes %d bytes, a message at most %d: %v", len(r.Leases), len(b), helper.MaxMessage, err)
			}
			got = append(got, r.Leases...)
			if !r.More {
				break
			}
			q.After = got[len(got)-1].IP.String()
		}
		if diff := cmp.Diff(all, got, addrs); diff != "" {
			t.Errorf("the pages together differ (-want +got):\n%s", diff)
		}
	}
}

func TestAPageOfNetworksFitsIntoAMessage(t *testing.T) {
	t.Parallel()
	r := helper.Response{ID: 1 << 63, More: true}
	for range page {
		r.Networks = append(r.Networks, helper.Observed{
			Bridge: strings.Repeat("b", 15), Index: 1 << 31, Fingerprint: strings.Repeat("f", 64), Damaged: 1 << 31,
		})
	}
	if b, err := json.Marshal(r); err != nil || len(b) > helper.MaxMessage {
		t.Errorf("a page takes %d bytes, a message at most %d: %v", len(b), helper.MaxMessage, err)
	}
}
