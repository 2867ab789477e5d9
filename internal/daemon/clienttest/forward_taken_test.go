package clienttest

import (
	"errors"
	"net"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// A program that took a port of the loopback while nobody of taproom's was there keeps that port from its guest, and nothing
// else: the network comes up, with its other ports, and has the port when the program lets go of it.
func TestAPortThatWasTakenMeanwhileKeepsNothingElseAway(t *testing.T) {
	t.Parallel()
	c := serve(t)
	c.daemon.NS.Run("ip", "link", "set", "lo", "up")
	doc := "<forward port='8080' to='192.168.77.10' toPort='80'/><forward port='8081' to='192.168.77.10' toPort='80'/><forward address='127.0.0.1' port='8082' to='192.168.77.10' toPort='80'/>"
	c.do("net-define", c.write("lab.xml", forwardingNetwork(doc)))
	c.do("net-start", "lab")
	away := c.faraway()
	web := c.standIn("web0", "52:54:00:77:00:0a", "192.168.77.10/24")
	web.ns.Shell("ip route add default via 192.168.77.1")
	web.answers(80, "web")
	leads := func(want string, at string) {
		t.Helper()
		if got := c.asked(c.daemon.NS, "tcp", at); got != want {
			t.Errorf("%s: %q answers; want %q\n%s\n%s", at, got, want, c.forwarded(), c.problems())
		}
	}
	leads("web", "127.0.0.1:8080")
	c.daemon.Kill()
	var theirs []net.Listener
	for _, pid := range c.daemon.Processes() { // as a boot does
		if err := unix.Kill(pid, unix.SIGKILL); err != nil && !errors.Is(err, unix.ESRCH) {
			t.Fatal(err)
		}
	}
	for _, at := range []string{"127.0.0.1:8080", "127.0.0.1:8082"} {
		var l net.Listener
		c.comes("the port is free", func() bool {
			var err error
			c.daemon.NS.Do(func() { l, err = net.Listen("tcp", at) })
			return err == nil
		})
		theirs = append(theirs, l)
		t.Cleanup(func() { _ = l.Close() })
	}
	if err := c.daemon.Start(); err != nil {
		t.Fatal(err)
	}
	if out := c.do("net-list"); !strings.Contains(out, " lab ") {
		t.Errorf("the network is not active:\n%s\n%s", out, c.problems())
	}
	leads("web", "127.0.0.1:8081")
	if got := c.asked(away, "tcp", "192.0.2.1:8080"); got != "web" {
		t.Errorf("from outside %q answers\n%s", got, c.problems())
	}
	problem := func(port string) bool {
		return strings.Contains(c.problems(), "tcp 127.0.0.1:"+port+" cannot lead to a guest: it is in use by ")
	}
	c.comes("taproom tells of the first", func() bool { return problem("8080") })
	c.comes("taproom tells of the second", func() bool { return problem("8082") })
	c.comes("of a port of the loopback alone taproom says where it leads", func() bool { return strings.Contains(c.forwarded(), "nowhere: tcp 127.0.0.1:8082 cannot lead") })
	for _, l := range theirs {
		_ = l.Close()
	}
	c.comes("they lead to the guest", func() bool { return !problem("8080") && !problem("8082") })
	leads("web", "127.0.0.1:8080")
	leads("web", "127.0.0.1:8082")
	c.do("net-destroy", "lab")
	c.do("net-undefine", "lab")
}
