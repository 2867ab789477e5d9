package qga

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// agent is the other end of a conversation: it gives each line it reads to answer, and writes what that returns.
func agent(t *testing.T, answer func(line string) string) *Client {
	t.Helper()
	host, guest := net.Pipe()
	var running sync.WaitGroup
	running.Go(func() {
		defer guest.Close()
		r := bufio.NewReader(guest)
		for {
			line, err := r.ReadString('\n')
			if err != nil {
				return
			}
			if _, err := io.WriteString(guest, answer(line)); err != nil {
				return
			}
		}
	})
	t.Cleanup(func() {
		_ = host.Close()
		running.Wait()
	})
	return New(host)
}

var syncID = regexp.MustCompile(`^\xff?.*guest-sync-delimited.*"id":(\d+)`)

// polite answers guest-sync-delimited, and everything else with rest.
func polite(rest string) func(string) string {
	return func(line string) string {
		if m := syncID.FindStringSubmatch(line); m != nil {
			return "\xff{\"return\": " + m[1] + "}\n"
		}
		return rest
	}
}

// short is a time in which nothing is expected to happen.
func short(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	t.Cleanup(cancel)
	return ctx
}

func TestAConversationBeginsAnewBehindWhatWasLeftOver(t *testing.T) {
	t.Parallel()
	c := agent(t, func(line string) string {
		if m := syncID.FindStringSubmatch(line); m != nil {
			return `{"return": "late"}` + "\n\xff{\"return\": 17}\n{\"ret\xff{\"return\": " + m[1] + "}\n"
		}
		return `{"return": {"version": "7.2.0"}}` + "\n"
	})
	if err := c.Sync(t.Context()); err != nil {
		t.Fatal(err)
	}
	var info struct{ Version string }
	if err := c.Execute(t.Context(), "guest-info", nil, &info); err != nil || info.Version != "7.2.0" {
		t.Errorf("got %+v (%v)", info, err)
	}
}

func TestWhatAnAgentDoesWrongHasItsError(t *testing.T) {
	t.Parallel()
	mute := func(string) string { return "" }
	for _, c := range []struct {
		name   string
		answer func(string) string
		sync   error // of Sync, or of a command when that is nil
		do     error
		text   string
	}{
		{"mute", mute, ErrUnsynced, nil, "does not answer"},
		{"answers another's question", func(string) string { return "\xff{\"return\": 1}\n" }, ErrUnsynced, nil, "does not answer"},
		{"babbles", func(string) string { return strings.Repeat("x", maxStale+2) }, ErrNonsense, nil, "without an answer"},
		{"endless line", polite(strings.Repeat("{", MaxAnswer+5000)), nil, ErrNonsense, "more than"},
		{"no JSON", polite("junk\x1b[1m\n"), nil, ErrNonsense, `do is answered with "junk\x1b[1m"`},
		{"no answer", polite("{}\n"), nil, ErrNonsense, "do is answered with"},
		{"another type", polite(`{"return": 5}` + "\n"), nil, ErrNonsense, "do returns"},
		{"falls mute", polite(""), nil, ErrTimeout, "in time: do"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			a := agent(t, c.answer)
			ctx := t.Context()
			if errors.Is(c.sync, ErrUnsynced) {
				ctx = short(t)
			}
			err, want := a.Sync(ctx), c.sync
			if c.sync == nil && err == nil {
				ctx = t.Context()
				if errors.Is(c.do, ErrTimeout) {
					ctx = short(t)
				}
				var reply struct{}
				err, want = a.Execute(ctx, "do", nil, &reply), c.do
			}
			if !errors.Is(err, want) || !strings.Contains(err.Error(), c.text) {
				t.Errorf("got %v, want %v with %q", err, want, c.text)
			}
		})
	}
}

func TestAnAgentThatIsGoneHasClosedItsChannel(t *testing.T) {
	t.Parallel()
	host, guest := net.Pipe()
	_ = guest.Close()
	defer host.Close()
	c := New(host)
	for _, err := range []error{c.Sync(t.Context()), c.Execute(t.Context(), "do", nil, nil), c.Send(t.Context(), []byte("{}"))} {
		if !errors.Is(err, ErrClosed) {
			t.Errorf("got %v", err)
		}
	}
}

func TestARefusalIsToldInTheAgentsWordsMadeFitToPrint(t *testing.T) {
	t.Parallel()
	c := agent(t, polite(`{"error": {"class": "CommandNotFound", "desc": "no \u001b[31m`+strings.Repeat("x", 4000)+`"}}`+"\n"))
	err := c.Execute(t.Context(), "guest-x", map[string]int{"a": 1}, nil)
	var refusal *Error
	if !errors.As(err, &refusal) || !refusal.Unknown() || !strings.HasPrefix(err.Error(), "the guest agent refused guest-x: no ?[31mxxx") || len(err.Error()) > maxQuote+100 {
		t.Errorf("got %v", err)
	}
}

func TestACommandIsOneLineHoweverItWasWritten(t *testing.T) {
	t.Parallel()
	got := make(chan string, 1)
	c := agent(t, func(line string) string {
		got <- line
		return `{"return": {"a": 1}}` + "\n"
	})
	ret, err := c.Raw(t.Context(), "x", []byte("{\n \"execute\": \"x\"\n}"))
	if line := <-got; err != nil || string(ret) != `{"a": 1}` || line != "{\"execute\":\"x\"}\n" {
		t.Errorf("sent %q, got %s (%v)", line, ret, err)
	}
}

// The agent is the distribution's own, on a socket of this host. What would change the host is turned off.
func TestQEMUsOwnAgentIsUnderstood(t *testing.T) {
	t.Parallel()
	path, err := exec.LookPath("qemu-ga")
	if err != nil {
		path = "/usr/sbin/qemu-ga"
	}
	dir := t.TempDir()
	socket := filepath.Join(dir, "s")
	cmd := exec.CommandContext(t.Context(), path, "-m", "unix-listen", "-p", socket, "-t", dir, "-b", "guest-shutdown,guest-set-time,guest-exec")
	var said bytes.Buffer
	cmd.Stdout, cmd.Stderr = &said, &said
	if err := cmd.Start(); err != nil {
		t.Fatalf("%v; `make setup-test` installs qemu-guest-agent", err)
	}
	defer func() { _ = cmd.Process.Kill(); _ = cmd.Wait() }()
	conn := dialWhenThere(t, socket, &said)
	defer conn.Close()
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	if _, err := conn.Write([]byte(`{"execute": "guest-info"}{"unfinish`)); err != nil { // somebody gave up in the middle
		t.Fatal(err)
	}
	c := New(conn)
	for range 2 {
		if err := c.Sync(ctx); err != nil {
			t.Fatalf("%v; the agent said %s", err, said.String())
		}
	}
	var host struct {
		Name string `json:"host-name"`
	}
	if err := c.Execute(ctx, "guest-get-host-name", nil, &host); err != nil || host.Name == "" {
		t.Errorf("the host is called %q (%v)", host.Name, err)
	}
	var refusal *Error
	if err := c.Execute(ctx, "guest-set-time", nil, nil); !errors.As(err, &refusal) || !refusal.Unknown() {
		t.Errorf("a command that is turned off: %v", err)
	}
	if err := c.Execute(ctx, "guest-file-open", map[string]string{"path": filepath.Join(dir, "none")}, nil); !errors.As(err, &refusal) || refusal.Unknown() {
		t.Errorf("a file that is not there: %v", err)
	}
}

// dialWhenThere connects to a socket that a process is about to listen on: nothing tells when it does.
func dialWhenThere(t *testing.T, socket string, said fmt.Stringer) net.Conn {
	t.Helper()
	deadline := time.After(30 * time.Second)
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for {
		if conn, err := net.Dial("unix", socket); err == nil {
			return conn
		}
		select {
		case <-tick.C:
		case <-deadline:
			t.Fatalf("the agent does not listen; it said %s", said)
		}
	}
}

func FuzzConversation(f *testing.F) {
	f.Add([]byte("\xff{\"return\": 1}\n{\"return\": {}}\n"))
	f.Add([]byte("junk\xff\xff{\"error\": {\"class\": \"a\", \"desc\": \"b\"}}\n"))
	f.Fuzz(func(t *testing.T, said []byte) {
		host, guest := net.Pipe()
		var running sync.WaitGroup
		running.Go(func() { _, _ = io.Copy(io.Discard, guest) })
		running.Go(func() {
			_, _ = guest.Write(said)
			_ = guest.Close()
		})
		c := New(host)
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
		defer cancel()
		if c.Sync(ctx) == nil {
			t.Errorf("%q answers a number that was not guessed", said)
		}
		var reply map[string]any
		_ = c.Execute(ctx, "x", nil, &reply)
		_ = host.Close()
		running.Wait()
	})
}
