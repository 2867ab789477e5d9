package crashtest

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/miekg/dns"

	"taproom/internal/api/client"
	"taproom/internal/api/own"
	"taproom/internal/qemu/emutest"
)

// resolver answers every question at an address of the daemon's namespace, until the test ends.
func resolver(w *world, address string) {
	w.t.Helper()
	var c net.PacketConn
	var err error
	w.NS.Do(func() { c, err = net.ListenPacket("udp", address) })
	if err != nil {
		w.t.Fatal(err)
	}
	s := &dns.Server{PacketConn: c, Handler: dns.HandlerFunc(func(to dns.ResponseWriter, q *dns.Msg) {
		var m dns.Msg
		m.SetReply(q)
		m.RecursionAvailable = true
		if rr, err := dns.NewRR(q.Question[0].Name + " 60 IN A 192.0.2.7"); err == nil {
			m.Answer = append(m.Answer, rr)
		}
		_ = to.WriteMsg(&m) // who asked may be gone
	})}
	done := make(chan error, 1)
	go func() { done <- s.ActivateAndServe() }()
	w.t.Cleanup(func() {
		_ = s.ShutdownContext(context.Background())
		_ = c.Close()
		if err := <-done; err != nil && !errors.Is(err, net.ErrClosed) {
			w.t.Errorf("the resolver at %s ended: %v", address, err)
		}
	})
}

// becomesHost makes the host use resolvers, as a network manager does.
func (w *world) becomesHost(text string) error {
	path := w.ResolvConf()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	if err := os.WriteFile(path+".new", []byte(text), 0o600); err != nil {
		return err
	}
	return os.Rename(path+".new", path)
}

// TestNamesAreAskedOfTheResolversThatTheHostHasNow changes them while a network runs, and kills the helper in between.
func TestNamesAreAskedOfTheResolversThatTheHostHasNow(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.NS.Run("ip", "link", "set", "dev", "lo", "up")
	for _, a := range []string{"127.0.0.1:53", "127.0.0.2:53"} {
		resolver(w, a)
	}
	names := 0 // each is asked for once: the network remembers answers
	from := func(c *client.Client, want string) error {
		again := time.NewTicker(10 * time.Millisecond)
		defer again.Stop()
		late, cancel := emutest.Context(t.Context())
		defer cancel()
		for {
			names++
			r, err := c.Lookup(t.Context(), own.LookupRequest{Network: "net1", Name: fmt.Sprintf("host%d.example", names), Type: "A"})
			if got := r.Status + " " + r.Source; err != nil || got == want {
				return err
			} else if late.Err() != nil {
				return fmt.Errorf("names are answered with %q, want %q", got, want)
			}
			<-again.C
		}
	}
	err := w.serve(func(c *client.Client) error {
		if _, err := c.Apply(t.Context(), own.ApplyRequest{Documents: []own.Document{{Name: "net1.xml", XML: newNetwork(1).xml}}}); err != nil {
			return err
		}
		for _, step := range []func() error{
			func() error { return from(c, "REFUSED network") },
			func() error { return w.becomesHost("nameserver 127.0.0.1\n") },
			func() error { return from(c, "NOERROR 127.0.0.1:53") },
			func() error { return w.becomesHost("nameserver 10.77.1.1\nnameserver 127.0.0.2\n") }, // the first is the network itself
			func() error { return from(c, "NOERROR 127.0.0.2:53") },
			func() error { _, err := w.killHelper(); return err },
			func() error { return from(c, "NOERROR 127.0.0.2:53") },
			func() error { return os.Remove(w.ResolvConf()) },
			func() error { return from(c, "REFUSED network") },
		} {
			if err := step(); err != nil {
				return err
			}
		}
		_, err := c.Apply(t.Context(), own.ApplyRequest{Documents: []own.Document{{Name: "net1.xml", XML: newNetwork(1).xml}}, Remove: true})
		return err
	})
	if err != nil {
		t.Error(err)
	}
	if left := w.Leftovers(); len(left) > 0 {
		t.Errorf("left behind: %q", left)
	}
}
