package tftp

import (
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func addrPort(s string) netip.AddrPort { return netip.MustParseAddrPort(s) }

// TestTenThousandForgedRequestsStayBounded asks from as many addresses and ports; a client that answers gets its file
// meanwhile.
func TestTenThousandForgedRequestsStayBounded(t *testing.T) {
	t.Parallel()
	total := NewLimit(10)
	l := newLab(t, strings.Repeat("x", 2000), Options{Total: total})
	l.ask(0)
	for i := range 10000 {
		l.send(netip.AddrPortFrom(guest(1+i%3000).Addr(), uint16(3000+i)), wire(opRead, "file", "octet"))
		if i == 3 || i == 2000 || i == 4000 || i == 9000 {
			l.ack(0, map[int]uint16{3: 1, 2000: 2, 4000: 3, 9000: 4}[i])
		}
		l.now = l.now.Add(10 * time.Microsecond)
	}
	if n := len(l.table.sessions); n != 14 {
		t.Errorf("there are %d sessions, want 10 and 4", n)
	}
	if n := len(l.sent); n > 10000+4 {
		t.Errorf("10000 requests were answered with %d datagrams", n)
	}
	if got := l.ended; len(got) == 0 || !complete(got, guest(0)) {
		t.Error("who answered did not get the file")
	}
	if n := openFiles(t, l); n != 14 {
		t.Errorf("%d files are open", n)
	}
	l.pass(time.Hour)
	if len(l.table.sessions) != 0 || total.free.Load() != 10 || openFiles(t, l) != 0 {
		t.Errorf("an hour later there are %d sessions, %d places and %d open files", len(l.table.sessions), total.free.Load(), openFiles(t, l))
	}
}

func complete(ended []Transfer, client netip.AddrPort) bool {
	for _, tr := range ended {
		if tr.Client == client && tr.Err == nil && tr.Bytes == 2000 {
			return true
		}
	}
	return false
}

// openFiles counts the descriptors of the lab's file.
func openFiles(t *testing.T, l *lab) int {
	t.Helper()
	links, err := filepath.Glob("/proc/self/fd/*")
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for _, link := range links {
		if to, err := os.Readlink(link); err == nil && to == filepath.Join(l.table.dir.Name(), "file") {
			n++
		}
	}
	return n
}

// TestAFullTableKeepsWhoAnswersAndDropsWhoDoesNot fills it with clients that all answer.
func TestAFullTableKeepsWhoAnswersAndDropsWhoDoesNot(t *testing.T) {
	t.Parallel()
	l := newLab(t, strings.Repeat("x", 2000), Options{Sessions: 3})
	for n := 1; n <= 3; n++ {
		l.ask(n)
		l.ack(n, 1)
	}
	l.take()
	l.ask(4)
	l.want("ERROR 0 server is busy, try again")
	l.wantEnd("10.7.0.4:2000 file 0: server is busy, try again")
	l.pass(4 * time.Second)
	l.ack(2, 2)
	l.ack(3, 2)
	l.pass(6 * time.Second)
	l.take()
	l.ask(4) // client 1 has been silent for six seconds
	l.want("DATA 1 (512)")
	l.wantEnd("10.7.0.1:2000 file 512: it made room for another client")
	l.ask(5) // and client 4 has not answered at all
	l.want("DATA 1 (512)")
	l.wantEnd("10.7.0.4:2000 file 0: it made room for another client")
}

func TestOneClientCannotHaveAllSessions(t *testing.T) {
	t.Parallel()
	l := newLab(t, "x", Options{Sessions: 8, PerClient: 2})
	l.ask(2)
	for port := range uint16(10) {
		l.send(netip.AddrPortFrom(guest(1).Addr(), 3000+port), wire(opRead, "file", "octet"))
		l.now = l.now.Add(time.Millisecond)
	}
	var got []netip.AddrPort
	for _, a := range []netip.AddrPort{guest(2), addrPort("10.7.0.1:3007"), addrPort("10.7.0.1:3008"), addrPort("10.7.0.1:3009")} {
		if l.table.sessions[a] != nil {
			got = append(got, a)
		}
	}
	if len(l.table.sessions) != 3 || fmt.Sprint(got) != "[10.7.0.2:2000 10.7.0.1:3008 10.7.0.1:3009]" {
		t.Errorf("%d sessions, of these %v", len(l.table.sessions), got)
	}
}

// TestANetworkCannotStarveAnother has one network take all shared places with clients that answer.
func TestANetworkCannotStarveAnother(t *testing.T) {
	t.Parallel()
	total := NewLimit(5)
	greedy := newLab(t, strings.Repeat("x", 2000), Options{Total: total})
	for n := range 50 {
		greedy.ask(n)
		greedy.ack(n, 1)
	}
	if n := len(greedy.table.sessions); n != 9 || total.free.Load() != 0 {
		t.Errorf("it has %d sessions, and %d places are left", n, total.free.Load())
	}
	other := newLab(t, strings.Repeat("x", 2000), Options{Total: total})
	for n := range 50 {
		other.ask(n)
		other.ack(n, 1)
	}
	if n := len(other.table.sessions); n != reserved {
		t.Errorf("the other has %d sessions, want %d", n, reserved)
	}
	greedy.table.close(os.ErrClosed)
	if total.free.Load() != 5 {
		t.Errorf("%d places are left after the first one has gone", total.free.Load())
	}
}

func TestABlockFitsAPacketUnlessSomebodySaysOtherwise(t *testing.T) {
	t.Parallel()
	four, six := netip.MustParseAddr("10.7.0.1"), netip.MustParseAddr("fd07::1")
	got := []int{
		Options{}.withDefaults(four).MaxBlock, Options{}.withDefaults(six).MaxBlock,
		Options{}.withDefaults(netip.MustParseAddr("::ffff:10.7.0.1")).MaxBlock,
		Options{MaxBlock: 1 << 20}.withDefaults(four).MaxBlock, Options{MaxBlock: 1}.withDefaults(four).MaxBlock,
	}
	if want := []int{1468, 1448, 1468, 65464, 512}; fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("got %v, want %v", got, want)
	}
}
