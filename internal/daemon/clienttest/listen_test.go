package clienttest

import (
	"bufio"
	"context"
	"os"
	"os/exec"
	"strings"
	"sync"
	"time"

	"taproom/internal/qemu/emutest"
)

// daylong has virsh listen until the test ends it.
const daylong = "86400"

// transcript is what a client that runs beside the test prints, line by line.
type transcript struct {
	c     *clients
	what  string
	lines chan string
	mu    sync.Mutex
	seen  []string
}

// listen starts a client that prints as long as it is left alone. It ends with the test, at the latest.
func (c *clients) listen(cmd *exec.Cmd) *transcript {
	c.t.Helper()
	t := &transcript{c: c, what: strings.Join(cmd.Args[1:], " "), lines: make(chan string, 1024)}
	r, w, err := os.Pipe()
	if err != nil {
		c.t.Fatal(err)
	}
	// Programs print whole blocks into a pipe; stdbuf makes it lines.
	cmd.Args = append([]string{"stdbuf", "-oL", cmd.Path}, cmd.Args[1:]...)
	if cmd.Path, err = exec.LookPath("stdbuf"); err != nil {
		c.t.Fatal(err)
	}
	cmd.Stdout, cmd.Stderr = w, w
	if err := cmd.Start(); err != nil {
		c.t.Fatal(err)
	}
	_ = w.Close()
	read := make(chan struct{})
	go func() {
		defer close(read)
		defer close(t.lines)
		for s := bufio.NewScanner(r); s.Scan(); {
			t.lines <- s.Text()
		}
	}()
	c.t.Cleanup(func() {
		_ = cmd.Process.Kill()
		<-read
		_ = cmd.Wait()
		_ = r.Close()
	})
	return t
}

// until waits for a line and returns it.
func (t *transcript) until(what string, match func(line string) bool) string {
	t.c.t.Helper()
	late, cancel := emutest.Context(t.c.t.Context())
	defer cancel()
	for {
		select {
		case line, ok := <-t.lines:
			if !ok {
				t.c.t.Fatalf("%s ended before it printed %s; it printed:\n%s", t.what, what, t.all())
			}
			t.mu.Lock()
			t.seen = append(t.seen, line)
			t.mu.Unlock()
			if match(line) {
				return line
			}
		case <-late.Done():
			t.c.t.Fatalf("wait for %s from %s: %v; it printed:\n%s\nthe daemon said: %s", what, t.what, context.Cause(late), t.all(), t.c.daemon.Said())
		}
	}
}

// line waits for exactly that line.
func (t *transcript) line(want string) {
	t.c.t.Helper()
	t.until(want, func(line string) bool { return line == want })
}

// lineAfter does something again and again until exactly that line is printed: for what has no effect before a guest is
// ready for it, which it tells nobody.
func (t *transcript) lineAfter(want string, again func()) {
	t.c.t.Helper()
	done := make(chan struct{})
	var wg sync.WaitGroup
	wg.Go(func() {
		for tick := time.NewTicker(100 * time.Millisecond); ; {
			again()
			select {
			case <-tick.C:
			case <-done:
				tick.Stop()
				return
			}
		}
	})
	defer wg.Wait()
	defer close(done)
	t.line(want)
}

// all is what was printed so far and waited for.
func (t *transcript) all() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return strings.Join(t.seen, "\n") + "\n"
}

// rest is everything that was printed, of a client that has ended or is just ending.
func (t *transcript) rest() string {
	t.c.t.Helper()
	for line := range t.lines {
		t.mu.Lock()
		t.seen = append(t.seen, line)
		t.mu.Unlock()
	}
	return t.all()
}

// forget begins a new chapter: what was printed so far is not in the next all.
func (t *transcript) forget() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.seen = nil
}

// events listens to all events of domains, and returns when it does: a listener tells nobody that it has registered, so
// something happens until it is heard of.
func (c *clients) events() *transcript {
	c.t.Helper()
	t := c.listen(c.virsh("event", "--all", "--loop", "--timeout", daylong))
	c.heard(t, func(name string) (last string) {
		c.write("probe.xml", "<domain type='qemu'><name>"+name+"</name><memory>16384</memory><os><type arch='x86_64'>hvm</type></os></domain>")
		c.do("define", "probe.xml")
		c.do("undefine", name)
		return "event 'lifecycle' for domain '" + name + "': Undefined Removed"
	})
	return t
}

// networkEvents listens to all events of networks.
func (c *clients) networkEvents() *transcript {
	c.t.Helper()
	t := c.listen(c.virsh("net-event", "--event", "lifecycle", "--loop", "--timeout", daylong))
	c.heard(t, func(name string) (last string) {
		c.write("probe.xml", "<network><name>"+name+"</name></network>")
		c.do("net-define", "probe.xml")
		c.do("net-undefine", name)
		return "event 'lifecycle' for network " + name + ": Undefined"
	})
	return t
}

// heard lets something happen until the listener tells of anything, and then something else, which ends what it still has
// to tell of the first.
func (c *clients) heard(t *transcript, happen func(name string) (last string)) {
	c.t.Helper()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	late, cancel := emutest.Context(c.t.Context())
	defer cancel()
	for first := false; !first; {
		happen("probe")
		select {
		case _, first = <-t.lines:
		case <-tick.C:
		case <-late.Done():
			c.t.Fatalf("%s hears nothing", t.what)
		}
	}
	t.line(happen("ready"))
	t.forget()
}
