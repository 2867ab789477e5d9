package helper_test

import (
	"bufio"
	"errors"
	"fmt"
	"net/netip"
	"os/exec"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"taproom/internal/network/helper"
)

// occupy has a process of the host bind a port, and returns how to end it.
func (s *site) occupy(proto, addr string, reuse bool) (pid int, stop func()) {
	s.t.Helper()
	family, kind := "AF_INET", "SOCK_DGRAM"
	if strings.Contains(addr, ":") {
		family = "AF_INET6"
	}
	if proto == "tcp" {
		kind = "SOCK_STREAM"
	}
	script := fmt.Sprintf(`import socket, sys
s = socket.socket(socket.%s, socket.%s)
s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, %d)
s.bind((%q, 53))
if %q == "tcp": s.listen()
print("bound", flush=True)
sys.stdin.read()`, family, kind, map[bool]int{true: 1}[reuse], addr, proto)
	c := exec.Command("python3", "-c", script)
	in, err := c.StdinPipe()
	if err != nil {
		s.t.Fatal(err)
	}
	out, err := c.StdoutPipe()
	if err != nil {
		s.t.Fatal(err)
	}
	if err := s.host.Start(c); err != nil {
		s.t.Fatal(err)
	}
	if line, err := bufio.NewReader(out).ReadString('\n'); line != "bound\n" {
		s.t.Fatalf("bind %s %s: %q, %v", proto, addr, line, err)
	}
	return c.Process.Pid, func() { in.Close(); _ = c.Wait() }
}

func TestAPortThatIsTakenIsSaidByTheNameOfWhoHasIt(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	n := dual()
	index := s.serveDual(n)
	if err := s.h.Remove(s.ctx, n.UUID); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		proto, addr string
		reuse       bool
		at          string // of the error; empty: none
		wildcard    bool
	}{
		{"udp", "10.9.0.1", true, "10.9.0.1:53", false},
		{"tcp", "10.9.0.1", false, "10.9.0.1:53", false},
		{"udp", "fd00:9::1", false, "[fd00:9::1]:53", false},
		{"udp", "0.0.0.0", false, "10.9.0.1:53", true},
		{"tcp", "::", false, "[fd00:9::1]:53", true},
		{"udp", "0.0.0.0", true, "", true}, // lets others have their address
	} {
		pid, stop := s.occupy(c.proto, c.addr, c.reuse)
		err := s.h.Set(s.ctx, n, index)
		var taken *helper.PortTakenError
		switch {
		case c.at == "" && err != nil:
			t.Errorf("beside %s %s: %v", c.proto, c.addr, err)
		case c.at == "":
		case !errors.As(err, &taken) || !errors.Is(err, unix.EADDRINUSE):
			t.Errorf("with %s %s taken: %v", c.proto, c.addr, err)
		case taken.Proto != c.proto || taken.Holder.PID != pid || !strings.HasPrefix(taken.Holder.Name, "python3") || taken.Holder.Wildcard != c.wildcard:
			t.Errorf("with %s %s taken by %d: %+v", c.proto, c.addr, pid, taken)
		}
		if all, oerr := s.h.Observe(s.ctx); oerr != nil || (len(all) > 0) != (c.at == "") {
			t.Errorf("beside %s %s: observed %+v, %v", c.proto, c.addr, all, oerr)
		}
		stop()
	}
}

func TestNamesAreToldToTheBridgeAndTheHostAndNobodyElse(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.serveDual(dual())
	s.host.Run("ip", "link", "add", "name", "lan", "type", "bridge")
	s.host.Keep("link lan")
	s.host.Shell("ip addr add 192.0.2.1/24 dev lan; ip link set dev lan up")
	stranger := s.guest("lan", "52:54:00:09:00:66")
	stranger.ns.Shell("ip addr add 192.0.2.9/24 dev eth0; ip route add 10.9.0.0/24 via 192.0.2.1")
	stranger.ns.Run("ping", "-c", "1", "-w", "60", "10.9.0.1") // it gets there
	if out, err := stranger.ns.Try("dig", "+time=1", "+tries=1", "+short", "@10.9.0.1", "files.nine.test"); err == nil {
		t.Errorf("a stranger was told %q", out)
	}
	if out, err := stranger.ns.Try("dig", "+tcp", "+time=1", "+tries=1", "+short", "@10.9.0.1", "files.nine.test"); err == nil {
		t.Errorf("a stranger was told %q over TCP", out)
	}
	for _, addr := range []string{"10.9.0.1", "fd00:9::1"} {
		if got := strings.TrimSpace(s.host.Run("dig", "+time=5", "+short", "@"+addr, "files.nine.test")); got != "10.9.0.200" {
			t.Errorf("the host was told %q by %s", got, netip.MustParseAddr(addr))
		}
	}
}
