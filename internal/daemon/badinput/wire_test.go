package badinput

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"taproom/internal/api/remote"
	"taproom/internal/api/virterr"
	"taproom/internal/api/xdr"
	"taproom/internal/qemu/emutest"
)

// raw is a connection of a client that follows no rules.
func (w *world) raw(t *testing.T) *net.UnixConn {
	t.Helper()
	c, err := net.Dial("unix", w.Socket())
	must(t, err)
	t.Cleanup(func() { c.Close() })
	_ = c.SetDeadline(time.Now().Add(2 * emutest.Patience()))
	return c.(*net.UnixConn)
}

// ended fails unless the daemon ends a connection without another word.
func ended(t *testing.T, c net.Conn) {
	t.Helper()
	n, err := c.Read(make([]byte, 1))
	if n > 0 || err == nil || errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("the connection is not at its end: read %d bytes, %v", n, err)
	}
}

// words is a message of big-endian words.
func words(n ...uint32) []byte {
	var b []byte
	for _, v := range n {
		b = binary.BigEndian.AppendUint32(b, v)
	}
	return b
}

// reply reads one answer and returns the error in it.
func reply(t *testing.T, c net.Conn) error {
	t.Helper()
	head := make([]byte, remote.HeaderSize)
	_, err := io.ReadFull(c, head)
	must(t, err)
	body := make([]byte, binary.BigEndian.Uint32(head)-remote.HeaderSize)
	_, err = io.ReadFull(c, body)
	must(t, err)
	if h := remote.ParseHeader(head); h.Status == remote.OK {
		return nil
	}
	var e remote.Error
	must(t, xdr.Decode(body, &e))
	return e.Err()
}

func TestMessagesThatAreNoneEndTheirConnectionAlone(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for name, b := range map[string][]byte{
		"length of nothing":      words(0),
		"length within a header": words(27, remote.ProgramRemote, 1, 1, 0, 0, 0),
		"4 GiB":                  words(0xffffffff, remote.ProgramRemote, 1, 1, 0, 0, 0),
		"just too long":          words(remote.MaxMessage+1, remote.ProgramRemote, 1, 1, 0, 0, 0),
		"HTTP":                   []byte("GET / HTTP/1.1\r\nHost: localhost\r\n\r\n"),
		"TLS":                    {0x16, 0x03, 0x01, 0x02, 0x00, 0x01, 0x00, 0x01, 0xfc},
	} {
		t.Run(name, func(t *testing.T) {
			before := w.state()
			c := w.raw(t)
			_, err := c.Write(b)
			must(t, err)
			ended(t, c)
			w.unchanged(t, before)
		})
	}
}

func TestCallsThatAreNoneAreAnswered(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	say := func(b []byte) func() error {
		return func() error {
			c := w.raw(t)
			_, err := c.Write(b)
			must(t, err)
			return reply(t, c)
		}
	}
	w.refuse(t, []bad{
		{"unknown program", say(words(28, 0x31337, 1, 1, 0, 0, 0)), virterr.RPC, "Cannot find program 201527 version 1"},
		{"unknown version", say(words(28, remote.ProgramRemote, 99, 1, 0, 0, 0)), virterr.RPC, "Cannot find program 536903814 version 99"},
		{"unknown procedure", say(words(28, remote.ProgramRemote, 1, 99999, 0, 0, 0)), virterr.NoSupport, "this function is not supported by the connection driver: procedure 99999 of program 0x20008086"},
		{"a reply", say(words(28, remote.ProgramRemote, 1, 1, 1, 0, 0)), virterr.RPC, "Unexpected message type 1"},
		{"too early", say(words(28, remote.ProgramRemote, 1, remote.ProcConnectGetHostname, 0, 0, 0)), virterr.InternalError, "internal error: hypervisor connection not open"},
		{"too short", say(words(28, remote.ProgramRemote, 1, remote.ProcConnectOpen, 0, 0, 0)), virterr.RPC, "Unable to decode the arguments of CONNECT_OPEN: malformed XDR: 4 bytes wanted at offset 0, 0 left"},
		{"string without end", say(words(36, remote.ProgramRemote, 1, remote.ProcConnectOpen, 0, 0, 0, 1, 0xffffffff)), virterr.RPC, "Unable to decode the arguments of CONNECT_OPEN: malformed XDR: length 4294967295 is over the limit of 4194304"},
		{"address of nobody", say(append(words(44, remote.ProgramRemote, 1, remote.ProcConnectOpen, 0, 0, 0, 1, 1), 'q', 1, 2, 3, 0, 0, 0, 0)), virterr.NoConnect, "no connection driver available for q"},
		{"present by 7, and absent", say(words(32, remote.ProgramRemote, 1, remote.ProcConnectOpen, 0, 0, 0, 7)), virterr.RPC, "Unable to decode the arguments of CONNECT_OPEN: malformed XDR: 4 bytes wanted at offset 4, 0 left"},
	}...)
}

func TestHalfAHeaderAndSilenceBlockNobody(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	before := w.state()
	silent := make([]net.Conn, 50)
	for i := range silent {
		silent[i] = w.raw(t)
		_, err := silent[i].Write(words(28, remote.ProgramRemote)[:1+i%7])
		must(t, err)
	}
	w.apply(network("quiet", "virbr-quiet", "192.168.91"))
	w.unchanged(t, before)
	if testing.Short() {
		return
	}
	for _, c := range silent { // the rest of a message has 30 seconds
		ended(t, c)
	}
}

func TestAThousandIdleConnectionsAreServedBesideOthers(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	before := w.state()
	fds := w.descriptors()
	conns := make([]net.Conn, 1000)
	var wg sync.WaitGroup
	for i := range conns {
		wg.Go(func() {
			c, err := net.Dial("unix", w.Socket())
			if err != nil {
				t.Error(err)
				return
			}
			conns[i] = c
		})
	}
	wg.Wait()
	begin := time.Now()
	must(t, w.start(guest("broken", nic("quiet"))))
	if took := time.Since(begin); took > emutest.Patience() {
		t.Errorf("start and destroy took %v", took)
	}
	if kib := w.residentKiB(); kib > 150<<10 {
		t.Errorf("the daemon takes %d KiB", kib)
	}
	for _, c := range conns {
		if c != nil {
			c.Close()
		}
	}
	w.unchanged(t, before)
	emutest.Wait(t, "the descriptors are given back", nil, func() bool { return w.descriptors() <= fds+2 })
}

// descriptors is how many the daemon has open.
func (w *world) descriptors() int {
	entries, err := os.ReadDir(fmt.Sprintf("/proc/%d/fd", w.PID()))
	must(w.t, err)
	return len(entries)
}

// starve lets the daemon open descriptors up to a number, and returns what lifts that.
func (w *world) starve(limit int) (feed func()) {
	w.t.Helper()
	var old unix.Rlimit
	must(w.t, unix.Prlimit(w.PID(), unix.RLIMIT_NOFILE, nil, &old))
	must(w.t, unix.Prlimit(w.PID(), unix.RLIMIT_NOFILE, &unix.Rlimit{Cur: uint64(limit), Max: old.Max}, nil))
	return func() { must(w.t, unix.Prlimit(w.PID(), unix.RLIMIT_NOFILE, &old, nil)) }
}

func TestADaemonWithoutDescriptorsServesAgainWhenItHasSome(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	before := w.state()
	feed := w.starve(w.descriptors() + 6)
	var conns []net.Conn
	for range 100 {
		conns = append(conns, w.raw(t)) // wait in the queue of the socket
	}
	emutest.Wait(t, "the daemon complains", nil, func() bool { return strings.Contains(w.Said(), "raise the limit of open files") })
	err := w.create(guest("broken", nic("quiet")+vnc))
	w.answer(t, err, virterr.SystemError, "cannot start domain 'broken': look for hooks: open ROOT/etc/libvirt/hooks/qemu.d: too many open files; raise the limit of open files of taproomd (LimitNOFILE)")
	for _, c := range conns {
		c.Close()
	}
	feed()
	if _, err := w.Client().Status(t.Context()); err != nil {
		t.Error(err)
	}
	w.unchanged(t, before)
	must(t, w.start(guest("broken", nic("quiet")+vnc)))
	w.unchanged(t, before)
}

func TestAGuestThatCannotBeClearedAwayNowIsClearedAwayLater(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	before := w.state()
	must(t, w.create(guest("broken", nic("quiet")+vnc)))
	d, err := w.c.Domain(t.Context(), "broken")
	must(t, err)
	feed := w.starve(3)
	err = w.c.DestroyDomain(t.Context(), d)
	if err == nil || virterr.CodeOf(err) != virterr.OperationFailed || !strings.HasPrefix(err.Error(), "operation failed: domain 'broken' ended, but removing what was made for it failed: ") ||
		!strings.HasSuffix(err.Error(), ": too many open files; it is tried again") {
		t.Errorf("destroy: code %d, %v", virterr.CodeOf(err), err)
	}
	s, err := w.c.Status(t.Context())
	if err != nil || len(s.Problems) != 1 || !strings.HasSuffix(s.Problems[0], "it is tried again") {
		t.Errorf("problems: %q, %v", s.Problems, err)
	}
	feed()
	emutest.Wait(t, "the problem is solved", nil, func() bool {
		s, err := w.c.Status(t.Context())
		return err == nil && len(s.Problems) == 0
	})
	w.unchanged(t, before)
}
