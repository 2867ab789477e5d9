package uml

import (
	"context"
	"errors"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"taproom/internal/host"
)

// pretend starts a guest that stays until it is killed, on a host with a version of Landlock. Who reads from said sees its end.
func pretend(t *testing.T, landlock uint32) (p *Process, said *os.File, err error) {
	t.Helper()
	launcher, err := filepath.Abs("testdata/launch")
	if err != nil {
		t.Fatal(err)
	}
	said, output, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = said.Close() })
	p, err = Start(t.Context(), host.New(host.Options{}), Spec{Launcher: launcher, UID: landlock, GID: 1, Output: output})
	return p, said, err
}

func TestAHostThatCannotConfineAGuestRunsNone(t *testing.T) {
	t.Parallel()
	for version, want := range map[uint32]string{
		1: "the host's kernel has none (none here)",
		5: "the host's kernel has version 5",
		6: "",
		7: "",
	} {
		p, said, err := pretend(t, version)
		if want == "" && err == nil {
			err = p.End()
		}
		var missing *NotConfinedError
		switch {
		case want == "" && err != nil:
			t.Errorf("version %d: %v", version, err)
		case want != "" && (!errors.As(err, &missing) || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), "another way than uml")):
			t.Errorf("version %d: %v, want %q", version, err, want)
		}
		if err := said.SetReadDeadline(time.Now().Add(time.Minute)); err != nil {
			t.Fatal(err)
		}
		if b, err := io.ReadAll(said); err != nil || len(b) != 0 {
			t.Errorf("version %d: it said %q, and then %v", version, b, err)
		}
	}
}

func TestAProcessThatEndedHasNoPrograms(t *testing.T) {
	t.Parallel()
	p, _, err := pretend(t, LandlockABI)
	if err != nil {
		t.Fatal(err)
	}
	other := exec.Command("sh", "-c", "cat; :")
	in, err := other.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := other.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := other.Start(); err != nil {
		t.Fatal(err)
	}
	if _, err := in.Write([]byte{0}); err != nil {
		t.Fatal(err)
	}
	if _, err := out.Read(make([]byte, 1)); err != nil { // the child runs
		t.Fatal(err)
	}
	own := p.child.PID
	p.child.PID = other.Process.Pid // it has the number now
	programs := p.programs()
	if len(programs) != 1 {
		t.Errorf("%d programs of one that runs, want 1", len(programs))
	}
	for _, program := range programs {
		_ = program.Close()
	}
	if err := unix.Kill(own, unix.SIGKILL); err != nil {
		t.Fatal(err)
	}
	<-p.Exited()
	if got := p.programs(); len(got) != 0 {
		t.Errorf("%d programs of one that ended, want none", len(got))
	}
	p.child.PID = own
	if err := errors.Join(p.End(), in.Close(), other.Wait()); err != nil {
		t.Error(err)
	}
}

// late is a guest whose caller's time is over just when the answer has come.
type late struct {
	net.Conn
	cancel context.CancelFunc // nil once it was
	passed chan struct{}      // closed when the deadline has passed
}

func (l *late) SetDeadline(at time.Time) error {
	err := l.Conn.SetDeadline(at)
	if !at.IsZero() {
		close(l.passed)
	}
	return err
}

func (l *late) Read(b []byte) (int, error) {
	n, err := l.Conn.Read(b)
	if l.cancel != nil {
		l.cancel()
		l.cancel = nil
		<-l.passed
	}
	return n, err
}

func TestACallersTimeIsItsOwn(t *testing.T) {
	t.Parallel()
	ours, guest := net.Pipe()
	answered := make(chan int)
	go func() {
		n := 0
		defer func() { answered <- n }()
		var b [64]byte
		for ; ; n++ {
			if _, err := guest.Read(b[:]); err != nil {
				return
			}
			if _, err := guest.Write([]byte("0\n")); err != nil {
				return
			}
		}
	}()
	over, cancel := context.WithCancel(t.Context())
	p := &Process{plug: &late{Conn: ours, cancel: cancel, passed: make(chan struct{})}}
	for _, c := range []struct {
		ctx  context.Context
		want error
	}{{over, nil}, {over, context.Canceled}, {t.Context(), nil}} {
		if err := p.Unplug(c.ctx, Disk{Unit: 1}); !errors.Is(err, c.want) {
			t.Errorf("%v, want %v", err, c.want)
		}
	}
	if err := ours.Close(); err != nil {
		t.Error(err)
	}
	if n := <-answered; n != 2 {
		t.Errorf("the guest was asked %d times, want 2", n)
	}
}
