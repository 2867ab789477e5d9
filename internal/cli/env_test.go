package cli_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"taproom/internal/appliance"
	"taproom/internal/cli"
	"taproom/internal/daemon/daemontest"
)

// said is what a command line printed and how it ended.
type said struct {
	code     int
	out, err string
}

// run runs a command line in this process.
func run(t *testing.T, change func(*cli.Env), args ...string) said {
	t.Helper()
	var out, errs bytes.Buffer
	env := &cli.Env{Stdin: strings.NewReader(""), Stdout: &out, Stderr: &errs}
	if change != nil {
		change(env)
	}
	code := cli.Main(t.Context(), env, args)
	return said{code, out.String(), errs.String()}
}

const network = `<network>
  <name>lab</name>
  <bridge name='virbr-lab'/>
  <ip address='192.168.160.1' netmask='255.255.255.0'/>
</network>
`

func TestColoursAreForTerminalsThatWantThem(t *testing.T) {
	t.Parallel()
	d := daemontest.New(t)
	file := filepath.Join(t.TempDir(), "network.xml")
	if err := os.WriteFile(file, []byte(network), 0o600); err != nil {
		t.Fatal(err)
	}
	lost := filepath.Join(t.TempDir(), "lost.xml")
	guest := "<domain type='qemu'><name>lost</name><memory>65536</memory><os><type arch='x86_64'>hvm</type></os>" +
		"<devices><interface type='network'><source network='nowhere'/></interface></devices></domain>"
	if err := os.WriteFile(lost, []byte(guest), 0o600); err != nil {
		t.Fatal(err)
	}
	terminals := func(colour bool) func(*cli.Env) {
		return func(e *cli.Env) { e.OutTerminal, e.ErrTerminal, e.Colour = true, true, colour }
	}
	for _, c := range []struct {
		name   string
		change func(*cli.Env)
		args   []string
		want   string
	}{
		{"created", terminals(true), []string{"up", file}, "network  lab                  \x1b[32mcreated\x1b[0m\n"},
		{"unchanged", terminals(true), []string{"up", file}, "network  lab                  \x1b[2munchanged\x1b[0m\n"},
		{"NO_COLOR", terminals(false), []string{"up", file}, "network  lab                  unchanged\n"},
		{"a pipe", func(e *cli.Env) { e.ErrTerminal, e.Colour = true, true }, []string{"up", file}, "network  lab                  unchanged\n"},
		{"failed", terminals(true), []string{"up", lost}, "domain   lost                 \x1b[31mfailed\x1b[0m: "},
		{"standard error in a file", func(e *cli.Env) { e.OutTerminal, e.Colour = true, true }, []string{"up", lost}, "domain   lost                 failed: "},
	} {
		got := run(t, c.change, append([]string{"--root", d.Root}, c.args...)...)
		if !strings.HasPrefix(got.out+got.err, c.want) {
			t.Errorf("%s: code %d, output %q, errors %q, want %q", c.name, got.code, got.out, got.err, c.want)
		}
	}
	if got := run(t, nil, "--root", d.Root, "down", lost, file); got.code != cli.ExitOK {
		t.Errorf("down: %+v", got)
	}
}

func TestWhatIsUnderWayEndsWithTheInterrupt(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	var out, errs bytes.Buffer
	env := &cli.Env{Stdin: strings.NewReader(""), Stdout: &out, Stderr: &errs}
	code := cli.Main(ctx, env, []string{"--root", t.TempDir(), "ls"})
	const want = "taproom: interrupted\n"
	if code != cli.ExitFailed || out.String() != "" || errs.String() != want {
		t.Errorf("code %d, output %q, errors %q, want %q", code, out.String(), errs.String(), want)
	}
}

func TestCommandWaitsForADaemonThatWasJustStarted(t *testing.T) {
	t.Parallel()
	d := daemontest.Prepare(t)
	done := make(chan said, 1)
	go func() { done <- run(t, func(e *cli.Env) { e.Patience = time.Minute }, "--root", d.Root, "ls") }()
	if err := d.Start(); err != nil {
		t.Fatal(err)
	}
	if got := <-done; got.code != cli.ExitOK {
		t.Errorf("code %d, errors %q", got.code, got.err)
	}
}

// terminal is the far end of a console: what the guest prints is read up to a mark, then the next thing is typed.
type terminal struct {
	t    *testing.T
	in   io.WriteCloser
	out  *bufio.Reader
	seen strings.Builder
}

// expect reads until mark and then types keys.
func (c *terminal) expect(mark, keys string) {
	c.t.Helper()
	var got strings.Builder
	for !strings.HasSuffix(got.String(), mark) {
		b, err := c.out.ReadByte()
		if err != nil {
			c.t.Fatalf("the console ended (%v) before %q; it said %q", err, mark, got.String())
		}
		got.WriteByte(b)
	}
	c.seen.WriteString(got.String())
	if _, err := io.WriteString(c.in, keys); err != nil {
		c.t.Fatalf("type %q: %v", keys, err)
	}
}

func TestConsoleCarriesWhatIsTypedAndEndsWithTheEscapeOrTheGuest(t *testing.T) {
	t.Parallel()
	d := daemontest.New(t)
	if _, err := appliance.Ensure(t.Context(), appliance.Options{AgentPath: filepath.Join(d.Programs(), "taproom-agent")}); err != nil {
		t.Fatal(err)
	}
	examples := []string{"../../examples/network.xml", "../../examples/guest.xml"}
	if got := run(t, nil, append([]string{"--root", d.Root, "up", "--accel", "auto"}, examples...)...); got.code != cli.ExitOK {
		t.Fatalf("up: %+v", got)
	}
	c, done := console(t, d, "demo")
	c.expect("# ", "help\n") // the guest's prompt
	c.expect("poweroff  power the guest off", "\x1d")
	if got := <-done; got != (said{}) {
		t.Errorf("the escape ended it with %+v", got)
	}
	c, done = console(t, d, "--json", "demo")
	if _, err := io.WriteString(c.in, "poweroff\n"); err != nil {
		t.Fatal(err)
	}
	rest, err := io.ReadAll(c.out)
	if err != nil {
		t.Error(err)
	}
	if got := <-done; got != (said{}) {
		t.Errorf("the guest's end ended it with %+v", got)
	}
	var output strings.Builder
	for line := range bytes.Lines(rest) {
		var piece struct{ Output string }
		if err := json.Unmarshal(line, &piece); err != nil {
			t.Fatalf("line %q: %v", line, err)
		}
		output.WriteString(piece.Output)
	}
	if !strings.Contains(output.String(), "poweroff") {
		t.Errorf("the console said %q, without the echo of what was typed", output.String())
	}
	if got := run(t, nil, append([]string{"--root", d.Root, "down"}, examples...)...); got.code != cli.ExitOK {
		t.Errorf("down: %+v", got)
	}
}

// console runs `taproom console` with pipes for a terminal; what it ends with comes on the channel, without output.
func console(t *testing.T, d *daemontest.Daemon, args ...string) (*terminal, <-chan said) {
	t.Helper()
	typed, in := io.Pipe()
	out, printed := io.Pipe()
	t.Cleanup(func() { in.Close() }) // what reads the terminal ends with it
	done := make(chan said, 1)
	go func() {
		got := run(t, func(e *cli.Env) { e.Stdin, e.Stdout = typed, printed }, append([]string{"--root", d.Root, "console"}, args...)...)
		printed.Close()
		done <- got
	}()
	return &terminal{t: t, in: in, out: bufio.NewReader(out)}, done
}
