package cli_test

import (
	"bufio"
	"io"
	"strings"
	"testing"

	"taproom/internal/cli"
	"taproom/internal/daemon/daemontest"
)

// answered runs `taproom net bridge eth0` at a terminal where somebody types something when he is asked, after what happens
// meanwhile.
func answered(t *testing.T, d *daemontest.Daemon, typed string, meanwhile func(), args ...string) (printed string, code int) {
	t.Helper()
	in, typing := io.Pipe()
	out, printing := io.Pipe()
	done := make(chan said, 1)
	go func() {
		got := run(t, func(e *cli.Env) { e.Stdin, e.Stdout, e.InTerminal = in, printing, true }, append([]string{"--root", d.Root, "net", "bridge", "eth0"}, args...)...)
		printing.Close()
		done <- got
	}()
	var all strings.Builder
	r := bufio.NewReader(out)
	asked := false
	for {
		b, err := r.ReadByte()
		if err != nil {
			break
		}
		all.WriteByte(b)
		if !asked && strings.HasSuffix(all.String(), "[y/N] ") {
			asked = true
			meanwhile()
			if typed != "" {
				_, _ = io.WriteString(typing, typed)
			}
		}
	}
	got := <-done
	typing.Close() // what reads the terminal ends with it
	return all.String() + got.err, got.code
}

func TestSomebodyAtATerminalKeepsTheBridgeOrHasEverythingBack(t *testing.T) {
	t.Parallel()
	d := daemontest.New(t)
	d.NS.Keep("link eth0", "link lan")
	d.NS.Shell("ip link add eth0 type veth peer name lan; ip link set lan up; ip link set eth0 up; ip addr add 192.0.2.10/24 dev eth0 valid_lft 9000 preferred_lft 9000; until ip link show eth0 | grep -q LOWER_UP; do sleep 0.05; done")
	undo := func() {
		t.Helper()
		if got := run(t, nil, "--root", d.Root, "net", "bridge", "--undo", "br0"); got.code != cli.ExitOK {
			t.Errorf("%+v", got)
		}
	}
	for _, c := range []struct {
		typed, says string
		code        int
		holder      string
		meanwhile   func()
		args        []string
	}{
		{"n\n", "not kept: eth0 has back what it had", cli.ExitFailed, "eth0", func() {}, nil},
		{"\n", "not kept: eth0 has back what it had", cli.ExitFailed, "eth0", func() {}, nil},
		{"n\n", "not kept: eth0 has back what it had", cli.ExitFailed, "eth0", undo, nil}, // somebody was faster
		{"", "eth0 has back what it had", cli.ExitFailed, "eth0", func() {}, []string{"--timeout", "1s"}},
		{"y\n", "br0 stays", cli.ExitOK, "br0", func() {}, nil},
	} {
		printed, code := answered(t, d, c.typed, c.meanwhile, append([]string{"--timeout", "10m"}, c.args...)...)
		if code != c.code || !strings.Contains(printed, c.says) || !strings.Contains(printed, "keep br0? (") {
			t.Errorf("%q: exit code %d, it says\n%s", c.typed, code, printed)
		}
		if got := d.NS.Shell("ip -o -4 address show dev " + c.holder); !strings.Contains(got, "192.0.2.10/24") {
			t.Errorf("%q: %s has not the address: %s", c.typed, c.holder, d.NS.Shell("ip -o -4 address"))
		}
	}
	got := run(t, nil, "--root", d.Root, "net", "bridge", "--confirm", "br0")
	const want = "as a DHCP client was given it on eth0; nobody prolongs that lease, and the address goes, unless a client runs on br0 by then: start one there"
	if got.code != cli.ExitOK || !strings.Contains(got.out, "note: br0 has 192.0.2.10/24 for another 2h") || !strings.Contains(got.out, want) {
		t.Errorf("a bridge with the lease of a DHCP client is kept: %+v", got)
	}
	undo()
	if got := d.NS.Shell("ip -o -4 address show dev eth0"); !strings.Contains(got, "valid_lft 8") && !strings.Contains(got, "valid_lft 7") {
		t.Errorf("the lease has become another: %s", got)
	}
}
