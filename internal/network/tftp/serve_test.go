package tftp_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"taproom/internal/host/hosttest"
	"taproom/internal/network/tftp"
)

// site is a server on a loopback address.
type site struct {
	t    *testing.T
	ctx  context.Context
	addr netip.AddrPort
	root string
	stop func() error

	ended chan tftp.Transfer
}

func serve(t *testing.T, network, address string, files map[string][]byte) *site {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	t.Cleanup(cancel)
	conn, err := net.ListenUDP(network, net.UDPAddrFromAddrPort(netip.MustParseAddrPort(address)))
	if err != nil {
		t.Fatal(err)
	}
	s := &site{
		t: t, ctx: ctx, ended: make(chan tftp.Transfer, 16), addr: netip.MustParseAddrPort(conn.LocalAddr().String()), root: t.TempDir(),
	}
	for name, b := range files {
		if err := os.WriteFile(filepath.Join(s.root, name), b, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	dir, err := os.Open(s.root)
	if err != nil {
		t.Fatal(err)
	}
	serving, end := context.WithCancel(ctx)
	done := make(chan error, 1)
	go func() {
		done <- tftp.Serve(serving, conn, dir, tftp.Options{Root: s.root, Report: func(tr tftp.Transfer) { s.ended <- tr }})
	}()
	s.stop = sync.OnceValue(func() error {
		end()
		return errors.Join(<-done, conn.Close(), dir.Close())
	})
	t.Cleanup(func() {
		if err := s.stop(); err != nil {
			t.Error(err)
		}
	})
	return s
}

// wantEnd waits for the transfers to end, and compares what was reported of them; clients' ports are their own.
func (s *site) wantEnd(want ...string) {
	s.t.Helper()
	var got []string
	for range want {
		select {
		case tr := <-s.ended:
			got = append(got, fmt.Sprintf("%s %d: %v", tr.File, tr.Bytes, tr.Err))
		case <-s.ctx.Done():
			s.t.Fatalf("reported\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
		}
	}
	if err := s.stop(); err != nil {
		s.t.Error(err)
	}
	if len(s.ended) > 0 {
		got = append(got, fmt.Sprintf("%d more", len(s.ended)))
	}
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		s.t.Errorf("reported\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// random is a file that does not compress and has no pattern.
func random(n int) []byte {
	b := make([]byte, n)
	r := rand.NewChaCha8([32]byte{7})
	_, _ = r.Read(b) // never fails
	return b
}

// get has a client fetch a file, and returns what it got.
type get func(s *site, name string) ([]byte, error)

// busybox fetches as a small boot environment does.
func busybox(options ...string) get {
	return func(s *site, name string) ([]byte, error) {
		to := filepath.Join(s.t.TempDir(), "got")
		args := append([]string{"tftp", "-g", "-r", name, "-l", to}, options...)
		args = append(args, s.addr.Addr().String(), strconv.Itoa(int(s.addr.Port())))
		if out, err := exec.CommandContext(s.ctx, "busybox", args...).CombinedOutput(); err != nil {
			return nil, fmt.Errorf("%w: %s", err, out)
		}
		return os.ReadFile(to)
	}
}

// curl is another client altogether.
func curl(mode string, options ...string) get {
	return func(s *site, name string) ([]byte, error) {
		var out, msg bytes.Buffer
		args := append([]string{"-sS", "--max-time", "30"}, options...)
		c := exec.CommandContext(s.ctx, "curl", append(args, fmt.Sprintf("tftp://%s/%s;mode=%s", s.addr, name, mode))...)
		c.Stdout, c.Stderr = &out, &msg
		if err := c.Run(); err != nil {
			return nil, fmt.Errorf("%w: %s", err, msg.String())
		}
		return out.Bytes(), nil
	}
}

func TestRealClientsGetTheirFiles(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name    string
		network string
		address string
		least   int
		get     get
	}{
		{"busybox", "udp4", "127.0.0.1:0", 0, busybox()},
		{"busybox with large blocks", "udp4", "127.0.0.1:0", 0, busybox("-b", "65464")},
		{"busybox with small blocks", "udp4", "127.0.0.1:0", 0, busybox("-b", "100")},
		// curl 7.88 has forgotten its peer when an empty file's only block comes (getpeername: not connected).
		{"curl", "udp4", "127.0.0.1:0", 1, curl("octet")},
		{"curl without options", "udp4", "127.0.0.1:0", 1, curl("octet", "--tftp-no-options")},
		{"curl with large blocks", "udp4", "127.0.0.1:0", 1, curl("octet", "--tftp-blksize", "1468")},
		{"curl over IPv6", "udp6", "[::1]:0", 1, curl("octet", "--tftp-blksize", "9000")},
		{"our own with windows", "udp4", "127.0.0.1:0", 0, window(32)},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			for _, size := range []int{c.least, 511, 512, 100000, 1468 * 3} {
				b := random(size)
				s := serve(t, c.network, c.address, map[string][]byte{"file": b})
				got, err := c.get(s, "file")
				if err != nil || !bytes.Equal(got, b) {
					t.Fatalf("%d bytes: got %d bytes, %v", size, len(got), err)
				}
				s.wantEnd(fmt.Sprintf("file %d: <nil>", size))
			}
		})
	}
}

func TestRealClientsAreToldWhatIsWrong(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name string
		get  get
		want string
	}{
		{"busybox", busybox(), "server error: (1) file not found"},
		{"curl", curl("octet"), "exit status 68"}, // its CURLE_TFTP_NOTFOUND
	} {
		s := serve(t, "udp4", "127.0.0.1:0", nil)
		if _, err := c.get(s, "missing"); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: got %v, want %s", c.name, err, c.want)
		}
		s.wantEnd("missing 0: file not found: no such file or directory")
	}
	s := serve(t, "udp4", "127.0.0.1:0", nil)
	put := exec.CommandContext(s.ctx, "busybox", "tftp", "-p", "-l", "/dev/null", "-r", "new", "127.0.0.1", strconv.Itoa(int(s.addr.Port())))
	if out, err := put.CombinedOutput(); err == nil || !strings.Contains(string(out), "server error: (2) files are only read here") {
		t.Errorf("writing a file got %v: %s", err, out)
	}
	if left, err := os.ReadDir(s.root); err != nil || len(left) != 0 {
		t.Errorf("there is now %v, %v", left, err)
	}
}

// In netascii the kernel of a guest gets lines as a terminal would.
func TestTextIsTranslatedForWhoAsks(t *testing.T) {
	t.Parallel()
	s := serve(t, "udp4", "127.0.0.1:0", map[string][]byte{"text": []byte("one\ntwo\rthree\r\n")})
	got, err := curl("netascii")(s, "text")
	if want := "one\r\ntwo\r\x00three\r\x00\r\n"; err != nil || string(got) != want {
		t.Errorf("got %q, %v, want %q", got, err, want)
	}
}

func TestAServerEndsWithItsContextAndLeavesTheSocketUsable(t *testing.T) {
	t.Parallel()
	conn, err := net.ListenUDP("udp4", net.UDPAddrFromAddrPort(netip.MustParseAddrPort("127.0.0.1:0")))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	dir, err := os.Open(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	defer dir.Close()
	for range 50 {
		ctx, cancel := context.WithCancel(context.Background())
		done := make(chan error, 1)
		go func() { done <- tftp.Serve(ctx, conn, dir, tftp.Options{}) }()
		cancel()
		if err := <-done; err != nil {
			t.Fatal(err)
		}
	}
	// What it leaves behind has no deadline: a datagram that is there is read.
	if _, err := conn.WriteToUDPAddrPort([]byte("to myself"), netip.MustParseAddrPort(conn.LocalAddr().String())); err != nil {
		t.Fatal(err)
	}
	if n, _, err := conn.ReadFromUDPAddrPort(make([]byte, 100)); n != len("to myself") || err != nil {
		t.Fatalf("the socket gave %d bytes, %v", n, err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	done := make(chan error, 1)
	go func() { done <- tftp.Serve(ctx, conn, dir, tftp.Options{}) }()
	client, err := net.DialUDP("udp4", nil, conn.LocalAddr().(*net.UDPAddr))
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	if err := client.SetDeadline(time.Now().Add(hosttest.Patience)); err != nil {
		t.Fatal(err)
	}
	if _, err := client.Write([]byte("\x00\x01x\x00octet\x00")); err != nil {
		t.Fatal(err)
	}
	b := make([]byte, 100)
	if n, err := client.Read(b); err != nil || string(b[:n]) != "\x00\x05\x00\x01file not found\x00" {
		t.Errorf("the next server on the socket answers %q, %v", b[:n], err)
	}
	conn.Close()
	if err := <-done; !errors.Is(err, net.ErrClosed) || !strings.HasPrefix(err.Error(), "serve TFTP on 127.0.0.1:") {
		t.Errorf("without a socket: %v", err)
	}
}
