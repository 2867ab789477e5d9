package crashtest

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"taproom/internal/api/client"
	"taproom/internal/api/remote"
	"taproom/internal/qemu/emutest"
	"taproom/internal/qemu/qmp"
)

// bootSector is a whole guest: it writes a dot to its serial port at every tick of the clock and does what it is told
// there.
var bootSector = append(append([]byte{
	0xfa,       //	cli
	0x31, 0xc0, //	xor ax, ax
	0x8e, 0xd0, //	mov ss, ax
	0xbc, 0x00, 0x7c, //	mov sp, 0x7c00
	0xfb,             //	sti
	0xba, 0xf8, 0x03, // next:	mov dx, 0x3f8
	0xb0, 0x2e, //	mov al, '.'
	0xee,             //	out dx, al
	0xf4,             //	hlt
	0xba, 0xfd, 0x03, //	mov dx, 0x3fd
	0xec,       //	in al, dx
	0xa8, 0x01, //	test al, 1
	0x74, 0xf1, //	jz next
	0xba, 0xf8, 0x03, //	mov dx, 0x3f8
	0xec,       //	in al, dx
	0x3c, 0x6f, //	cmp al, 'o'
	0x74, 0x16, //	je off
	0x3c, 0x72, //	cmp al, 'r'
	0x74, 0x0c, //	je reset
	0x3c, 0x70, //	cmp al, 'p'
	0x75, 0xe1, //	jne next
	0xba, 0x05, 0x05, //	mov dx, 0x505	; pvpanic
	0xb0, 0x01, //	mov al, 1
	0xee,       //	out dx, al
	0xeb, 0xd9, //	jmp next
	0xb0, 0xfe, // reset:	mov al, 0xfe	; keyboard controller
	0xe6, 0x64, //	out 0x64, al
	0xeb, 0xd3, //	jmp next
	0xba, 0x04, 0x06, // off:	mov dx, 0x604	; PM1a control
	0xb8, 0x00, 0x20, //	mov ax, 0x2000	; S5
	0xef,       //	out dx, ax
	0xeb, 0xca, //	jmp next
}, make([]byte, 510-63)...), 0x55, 0xaa)

// States of domains that remain when their guest has ended.
const (
	stateRunning  int32 = 1
	stateShutdown int32 = 4
	stateShutoff  int32 = 5
	stateCrashed  int32 = 6
)

// TestWhatAGuestDidWhileNoDaemonWasThereIsFollowed has the guest itself power off, panic or reset.
func TestWhatAGuestDidWhileNoDaemonWasThereIsFollowed(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name    string
		policy  string
		command string // what the guest does
		event   string // what QEMU says about it
		stays   bool   // in the QEMU it had
		state   int32
	}{
		{"powers off", "", "o", "SHUTDOWN", false, stateShutoff},
		{"powers off and is to boot again", "<on_poweroff>restart</on_poweroff>", "o", "SHUTDOWN", true, stateRunning},
		{"powers off and is to be kept", "<on_poweroff>preserve</on_poweroff>", "o", "SHUTDOWN", true, stateShutdown},
		{"panics", "", "p", "GUEST_PANICKED", false, stateShutoff},
		{"panics and is to be kept", "<on_crash>preserve</on_crash>", "p", "GUEST_PANICKED", true, stateCrashed},
		{"panics and is to boot again", "<on_crash>restart</on_crash>", "p", "GUEST_PANICKED", true, stateRunning},
		{"resets", "", "r", "RESET", true, stateRunning},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			guest := newDomain(1, nil, w.disk(1, bootSector), c.policy, "<panic model='isa'/>")
			w.objects = []*object{guest}
			if err := w.serve(func(c *client.Client) error { return w.boot(c, guest) }); err != nil {
				t.Fatal(err)
			}
			if err := w.tell(guest, c.command, c.event); err != nil {
				t.Fatal(err)
			}
			if !c.stays {
				guest.active, guest.pid = no, 0
			}
			err := w.serve(func(cl *client.Client) error {
				if err := w.reaches(cl, guest, c.state); err != nil {
					return err
				}
				if err := w.verify(cl); err != nil {
					return err
				}
				return w.again(cl)
			})
			if err != nil {
				t.Error(err)
			}
		})
	}
}

// boot defines and starts a guest and waits until its boot sector runs.
func (w *world) boot(c *client.Client, o *object) error {
	for _, next := range []func(*object) step{define, startPaused} {
		if err := w.do(c, next(o)); err != nil {
			return err
		}
	}
	xml, err := c.DomainXML(context.Background(), o.domain(), 0)
	if err != nil {
		return err
	}
	m := regexp.MustCompile(`path='(/dev/pts/[0-9]+)'`).FindStringSubmatch(xml)
	if m == nil {
		return fmt.Errorf("no terminal in %s", xml)
	}
	o.terminal = m[1]
	tty, err := w.openTerminal(o) // before it runs: QEMU drops what nobody listens to
	if err != nil {
		return err
	}
	defer tty.Close()
	if err := w.do(c, resume(o)); err != nil {
		return err
	}
	for b := make([]byte, 1); b[0] != '.'; {
		if _, err := tty.Read(b); err != nil {
			return fmt.Errorf("wait for the guest: %w", err)
		}
	}
	return nil
}

// openTerminal opens a guest's serial port.
func (w *world) openTerminal(o *object) (*os.File, error) {
	tty, err := os.OpenFile(o.terminal, os.O_RDWR|unix.O_NOCTTY|unix.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	return tty, tty.SetDeadline(time.Now().Add(emutest.Patience()))
}

// tell has a guest do something while no daemon is there, and waits until its QEMU says that it did.
func (w *world) tell(o *object, command, event string) error {
	var progress emutest.Progress
	ctx, cancel := emutest.Watch(context.Background(), 1, &progress)
	defer cancel()
	monitor, err := qmp.Dial(ctx, w.k, filepath.Join(w.Paths().Guest(o.uuid.String()), "qmp.sock"))
	if err != nil {
		return err
	}
	defer monitor.Close()
	tty, err := w.openTerminal(o)
	if err != nil {
		return err
	}
	defer tty.Close()
	if _, err := tty.WriteString(command); err != nil {
		return err
	}
	for {
		select {
		case e, ok := <-monitor.Events():
			if !ok {
				return monitor.Err()
			}
			progress.Event("QMP event " + e.Name)
			if e.Name == event {
				return nil
			}
		case <-ctx.Done():
			return fmt.Errorf("wait for %s: %w", event, context.Cause(ctx))
		}
	}
}

// reaches waits until a guest is in a state.
func (w *world) reaches(c *client.Client, o *object, want int32) error {
	var progress emutest.Progress
	ctx, cancel := emutest.Watch(context.Background(), 1, &progress)
	defer cancel()
	events, unsubscribe, err := c.Lifecycle(ctx)
	if err != nil {
		return err
	}
	for {
		got, err := c.DomainState(ctx, o.domain())
		if err != nil {
			return err
		}
		if got.State == want {
			return unsubscribe(ctx)
		}
		select {
		case e := <-events:
			progress.Event(fmt.Sprintf("the daemon's event %+v", e))
		case <-ctx.Done():
			return fmt.Errorf("guest %s is in state %d (%d), want %d: %w\n%s", o.name, got.State, got.Reason, want, context.Cause(ctx), w.Said())
		}
	}
}

func TestAGuestWhoseQEMUIsKilledIsOffAndLeavesNothing(t *testing.T) {
	t.Parallel()
	net := newNetwork(1)
	w := newWorld(t, net)
	killed, other := newDomain(1, net, w.disk(1, nil)), newDomain(2, net, w.disk(2, nil))
	w.objects = append(w.objects, killed, other)
	err := w.serve(func(c *client.Client) error {
		for _, o := range w.objects {
			for _, next := range []func(*object) step{define, start} {
				if err := w.do(c, next(o)); err != nil {
					return err
				}
			}
		}
		if err := w.endQEMU(killed); err != nil {
			return err
		}
		if err := w.verify(c); err != nil { // the other one goes on
			return err
		}
		const crashed = 3 // VIR_DOMAIN_SHUTOFF_CRASHED
		state, err := c.DomainState(t.Context(), killed.domain())
		if err != nil || state != (remote.DomainState{State: stateShutoff, Reason: crashed}) {
			t.Errorf("state %+v, %v", state, err)
		}
		return w.again(c)
	})
	if err != nil {
		t.Error(err)
	}
}

// TestAGuestWhoseQEMUDoesNotAnswerIsLeftAlone has QEMU stopped by a signal when a daemon starts.
func TestAGuestWhoseQEMUDoesNotAnswerIsLeftAlone(t *testing.T) {
	t.Parallel()
	net := newNetwork(1)
	w := newWorld(t, net)
	guests := []*object{newDomain(1, net, w.disk(1, nil)), newDomain(2, net, w.disk(2, nil)), newDomain(3, net, w.disk(3, nil))}
	w.objects = append(w.objects, guests...)
	err := w.serve(func(c *client.Client) error {
		for _, o := range w.objects {
			if err := errors.Join(w.do(c, define(o)), w.do(c, start(o))); err != nil {
				return err
			}
		}
		return nil
	})
	for _, o := range guests[:2] {
		err = errors.Join(err, w.signal(o, unix.SIGSTOP))
	}
	if err != nil {
		t.Fatal(err)
	}
	err = w.serve(func(c *client.Client) error {
		if err := w.verify(c); err != nil { // all are there, each in its QEMU
			return err
		}
		if err := w.do(c, suspend(guests[2])); err != nil { // nobody waits for the others
			return err
		}
		// Whoever wants something of it waits until it answers.
		done := make(chan error, 1)
		go func() { done <- w.do(c, suspend(guests[0])) }()
		err := w.signal(guests[0], unix.SIGCONT)
		if err := errors.Join(err, <-done); err != nil {
			return err
		}
		if err := w.do(c, destroy(guests[1])); err != nil {
			return err
		}
		if err := w.verify(c); err != nil {
			return err
		}
		return w.again(c)
	})
	if err != nil {
		t.Error(err)
	}
}

// signal sends a signal to a guest's QEMU.
func (w *world) signal(o *object, sig unix.Signal) error {
	p, err := w.k.OpenPID(o.pid, 0)
	if err != nil {
		return err
	}
	defer p.Close()
	return w.k.Signal(p, sig)
}
