package engine

import (
	"context"
	"runtime"
	"strings"
	"testing"
	"time"

	"taproom/internal/api/server"
	"taproom/internal/api/virterr"
	"taproom/internal/qemu/qmp"
	"taproom/internal/spec"
)

// An agent does not answer a guest-suspend that it fulfils: QEMU tells that the guest sleeps.
func TestAnAgentPutsAGuestToSleep(t *testing.T) {
	t.Parallel()
	a := newAgentDouble(t, map[string]string{
		"guest-suspend-ram": "", "guest-suspend-disk": "",
		"guest-suspend-hybrid": `{"error": {"class": "GenericError", "desc": "no hybrid here"}}`,
	})
	for target, tells := range map[uint32]string{server.SleepMemory: "SUSPEND", server.SleepDisk: "SUSPEND_DISK"} {
		done := make(chan error, 1)
		go func() { done <- a.e.SuspendGuest(t.Context(), a.d.uuid, target) }()
		want := map[uint32]string{server.SleepMemory: "guest-suspend-ram", server.SleepDisk: "guest-suspend-disk"}[target]
		for !strings.Contains(a.asked(), want) {
			runtime.Gosched()
		}
		select {
		case err := <-done:
			t.Fatalf("%s: it is over before the guest sleeps: %v", want, err)
		default:
		}
		a.run.expected.seen(tells)
		if err := <-done; err != nil {
			t.Errorf("%s: %v", want, err)
		}
	}
	if err := a.e.SuspendGuest(t.Context(), a.d.uuid, server.SleepHybrid); err == nil || !strings.Contains(err.Error(), "no hybrid here") {
		t.Errorf("an agent that cannot: %v", err)
	}
	if err := a.e.SuspendGuest(t.Context(), a.d.uuid, 3); virterr.CodeOf(err) != virterr.ArgumentUnsupported {
		t.Errorf("an odd way to sleep: %v", err)
	}
	a.e.work.Wait()
	if left := a.run.expected.waiting; len(left) > 0 {
		t.Errorf("who waits no longer is still told of %v", left)
	}
}

// A QEMU that answers and tells of nothing is waited for in vain, and leaves nothing to be told.
func TestWhoWaitsNoLongerIsForgotten(t *testing.T) {
	t.Parallel()
	a := newAgentDouble(t, nil)
	a.monitored(t, map[string]string{"system_reset": "{}", "query-migrate": `{"status": "active"}`})
	for what, wait := range map[string]func(context.Context) error{
		"reset": func(ctx context.Context) error { return a.run.do(ctx, "system_reset", "RESET") },
		"state": func(ctx context.Context) error { _, err := a.run.stateSent(ctx); return err },
	} {
		ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
		if err := wait(ctx); err == nil {
			t.Errorf("%s: it ends well", what)
		}
		cancel()
		if left := a.run.expected.waiting; len(left) > 0 {
			t.Errorf("%s: who waits no longer is still told of %v", what, left)
		}
	}
}

func TestADocumentCanKeepAGuestAwake(t *testing.T) {
	doc, err := spec.ParseDomain([]byte("<domain type='qemu'><name>d</name><pm><suspend-to-mem enabled='no'/><suspend-to-disk enabled='yes'/></pm></domain>"))
	if err != nil {
		t.Fatal(err)
	}
	for target, want := range map[uint32]bool{server.SleepMemory: false, server.SleepDisk: true, server.SleepHybrid: false} {
		err := canSleep(doc, target)
		if (err == nil) != want || err != nil && virterr.CodeOf(err) != virterr.ConfigUnsupported {
			t.Errorf("target %d: %v", target, err)
		}
	}
}

// A guest that the daemon has stopped, and one that sleeps already, only tell clients.
func TestWhatQEMUTellsOfSleepChangesTheStateOfAGuestThatRuns(t *testing.T) {
	t.Parallel()
	a := newAgentDouble(t, nil)
	var told []server.Event
	defer a.e.Subscribe(func(e server.Event) { told = append(told, e) })()
	step := func(event string, state, reason int32, events int) {
		t.Helper()
		told = nil
		guestEvents[event](a.e, t.Context(), a.d, a.run, qmp.Event{Name: event})
		ref := a.d.view().ref
		if ref.State != state || ref.Reason != reason || len(told) != events {
			t.Errorf("after %s the guest is %d (%d), and clients heard %+v", event, ref.State, ref.Reason, told)
		}
	}
	step("SUSPEND", server.DomainPmsuspended, server.PmsuspendedUnknown, 2)
	step("SUSPEND", server.DomainPmsuspended, server.PmsuspendedUnknown, 1)
	step("WAKEUP", server.DomainRunning, server.RunningWakeup, 2)
	step("WAKEUP", server.DomainRunning, server.RunningWakeup, 1)
	step("SUSPEND_DISK", server.DomainPmsuspended, server.PmsuspendedUnknown, 2)
	a.d.setState(a.run, server.DomainPaused, server.PausedUser)
	step("SUSPEND", server.DomainPaused, server.PausedUser, 1)
	step("WAKEUP", server.DomainPaused, server.PausedUser, 1)
}
