package host_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"taproom/internal/host"
	"taproom/internal/host/hosttest"
)

func sleeper(t *testing.T, k *host.Kernel) *host.Process {
	t.Helper()
	p, err := k.Start(host.ProcessSpec{Path: "/bin/sleep", Args: []string{"sleep", "600"}})
	must(t, err)
	return p
}

func TestChild_IsReapedByWhicheverDescriptorIsWaitedFor(t *testing.T) {
	t.Parallel()
	k := host.New(host.Options{})
	defer k.Close()
	p := sleeper(t, k)
	defer p.Close()
	found, err := k.OpenPID(p.PID, p.Start)
	must(t, err)
	defer found.Close()
	must(t, k.Signal(found, unix.SIGKILL))
	must(t, found.Wait(t.Context()))
	if err := k.Signal(found, 0); !errors.Is(err, host.ErrGone) {
		t.Errorf("it is a zombie: %v", err)
	}
	if exit, err := p.Wait(t.Context()); err != nil || exit.Signal != unix.SIGKILL {
		t.Errorf("the one that started it is told %v, %v", exit, err)
	}
	adopted := &host.Process{PIDFD: *found}
	if exit, err := adopted.Wait(t.Context()); err != nil || exit.Signal != unix.SIGKILL {
		t.Errorf("the one that found it is told %v, %v", exit, err)
	}
}

func TestChild_ThatNobodyHoldsIsReaped(t *testing.T) {
	t.Parallel()
	k := host.New(host.Options{})
	defer k.Close()
	for name, c := range map[string]func(p *host.Process, own int){
		"it has ended": func(p *host.Process, own int) {
			must(t, unix.PidfdSendSignal(own, unix.SIGKILL, nil, 0))
			over(t, own)
			must(t, p.Close())
		},
		"it ends later": func(p *host.Process, own int) {
			must(t, p.Close())
			must(t, unix.PidfdSendSignal(own, unix.SIGKILL, nil, 0))
		},
		"it is found and let go again": func(p *host.Process, own int) {
			must(t, p.Close())
			again, err := k.OpenPID(p.PID, p.Start)
			must(t, err)
			ctx, cancel := context.WithCancel(t.Context())
			cancel()
			if err := again.Wait(ctx); !errors.Is(err, context.Canceled) {
				t.Errorf("waited no longer than allowed: %v", err)
			}
			must(t, again.Close())
			must(t, unix.PidfdSendSignal(own, unix.SIGKILL, nil, 0))
		},
	} {
		p := sleeper(t, k)
		own, err := unix.PidfdOpen(p.PID, 0)
		must(t, err)
		c(p, own)
		over(t, own)
		gone := time.NewTicker(time.Millisecond) // nobody is told of a zombie's end
		late := time.After(hosttest.Patience)
		for reaped := false; !reaped; {
			select {
			case <-gone.C:
				reaped = errors.Is(unix.PidfdSendSignal(own, 0, nil, 0), unix.ESRCH)
			case <-late:
				t.Fatalf("%s: process %d is still a zombie", name, p.PID)
			}
		}
		gone.Stop()
		must(t, unix.Close(own))
	}
}

// over waits until a process has ended.
func over(t *testing.T, pidfd int) {
	t.Helper()
	for {
		_, err := unix.Poll([]unix.PollFd{{Fd: int32(pidfd), Events: unix.POLLIN}}, -1)
		if errors.Is(err, unix.EINTR) {
			continue
		}
		must(t, err)
		return
	}
}
