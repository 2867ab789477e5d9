package engine

import (
	"context"
	"encoding/json"
	"strings"

	"taproom/internal/api/server"
	"taproom/internal/qemu/qmp"
)

// watch reads what a guest's QEMU tells until it is gone. There is one for every running guest; the engine waits for it.
func (e *Engine) watch(ctx context.Context, d *domain, run *running) {
	e.followFilters(ctx, d, run, run.trusted()...) // what changed while nobody listened, QEMU tells whoever asks
	for {
		select {
		case ev, ok := <-run.mon.Events():
			if !ok {
				e.lost(ctx, d, run)
				return
			}
			e.publish(server.MonitorEvent{Domain: d.view().ref, Name: ev.Name, Time: ev.Time, Details: string(ev.Data)})
			if handle := guestEvents[ev.Name]; handle != nil {
				handle(e, ctx, d, run, ev)
			}
			run.expected.seen(ev.Name)
		case <-run.proc.Dying():
			e.lost(ctx, d, run)
			return
		case <-ctx.Done():
			return
		}
	}
}

// guestEvents are the events of QEMU (qapi/run-state.json and its siblings) that mean something here.
var guestEvents = map[string]func(*Engine, context.Context, *domain, *running, qmp.Event){
	"STOP": func(e *Engine, _ context.Context, d *domain, run *running, ev qmp.Event) {
		run.ifNews(ev, func() {
			if d.view().ref.State == server.DomainRunning { // a guest that ended stands still as well
				e.paused(d, run, server.PausedUnknown, server.EventSuspendedPaused)
			}
		})
	},
	"RESUME": func(e *Engine, _ context.Context, d *domain, run *running, ev qmp.Event) {
		run.ifNews(ev, func() { e.resumed(d, run) })
	},
	"RESET":          (*Engine).onReset,
	"SHUTDOWN":       (*Engine).onShutdown,
	"GUEST_PANICKED": (*Engine).onPanic,
	"BALLOON_CHANGE": func(e *Engine, _ context.Context, d *domain, run *running, ev qmp.Event) {
		var data struct {
			Actual uint64 `json:"actual"`
		}
		if json.Unmarshal(ev.Data, &data) == nil {
			run.balloonKiB.Store(data.Actual >> 10)
			e.publish(server.DomainBalloonChange{Domain: d.view().ref, ActualKiB: data.Actual >> 10})
		}
	},
	"VSERPORT_CHANGE":           (*Engine).onChannel,
	"RTC_CHANGE":                (*Engine).onClock,
	"MEMORY_DEVICE_SIZE_CHANGE": tell(tellMemoryDevice),
	"MEMORY_FAILURE":            tell(tellMemoryFailure),
	"VNC_CONNECTED":             tell(tellDisplay(displayConnect)),
	"VNC_INITIALIZED":           tell(tellDisplay(displayInitialize)),
	"VNC_DISCONNECTED":          tell(tellDisplay(displayDisconnect)),
	"SPICE_CONNECTED":           tell(tellDisplay(displayConnect)),
	"SPICE_INITIALIZED":         tell(tellDisplay(displayInitialize)),
	"SPICE_DISCONNECTED":        tell(tellDisplay(displayDisconnect)),
	"SUSPEND":                   onSleep(server.PMSuspend, server.EventPmsuspendedMemory),
	"SUSPEND_DISK":              onSleep(server.PMSuspendDisk, server.EventPmsuspendedDisk),
	"WAKEUP":                    (*Engine).onWakeup,
	"DUMP_COMPLETED":            (*Engine).onDumped,
	"WATCHDOG":                  (*Engine).onWatchdog,
	"BLOCK_IO_ERROR":            (*Engine).onIOError,
	"DEVICE_DELETED":            (*Engine).onDeleted,
	"DEVICE_UNPLUG_GUEST_ERROR": (*Engine).onRejected,
	"ACPI_DEVICE_OST":           (*Engine).onOST,
	"NIC_RX_FILTER_CHANGED":     (*Engine).onRxFilter,
	"DEVICE_TRAY_MOVED":         (*Engine).onTray,
}

// onShutdown is a guest that powered itself off. QEMU stays, stopped (-no-shutdown), so this is found out as well by a
// daemon that was not there when it happened.
func (e *Engine) onShutdown(ctx context.Context, d *domain, run *running, ev qmp.Event) {
	var data struct {
		Guest  bool   `json:"guest"`
		Reason string `json:"reason"`
	}
	_ = json.Unmarshal(ev.Data, &data) // without a reason it is a power-off
	if data.Reason == "host-signal" || data.Reason == "host-qmp-quit" {
		return // somebody is ending QEMU itself; its exit tells the rest
	}
	action := run.doc().OnPoweroff
	switch {
	case data.Reason == "guest-panic":
		return // GUEST_PANICKED comes too, and decides
	case run.rebooting.Load():
		action = actionRestart
	}
	if action == actionRestart {
		// It is on its way back: that it stands still in between is no news, the reset is.
		run.settling.Store(true)
	} else {
		v, _ := d.setState(run, server.DomainShutdown, server.ShutdownUser)
		e.publish(server.DomainLifecycle{Domain: v.ref, Event: server.EventShutdown, Detail: shutdownDetail(data.Guest)})
	}
	e.afterEnd(ctx, d, run, action, server.ShutoffShutdown, server.EventStoppedShutdown)
}

func shutdownDetail(guest bool) int32 {
	if guest {
		return server.EventShutdownGuest
	}
	return server.EventShutdownHost
}

// onPanic is a guest whose kernel gave up and said so through a panic device.
func (e *Engine) onPanic(ctx context.Context, d *domain, run *running, _ qmp.Event) {
	v, _ := d.setState(run, server.DomainCrashed, server.CrashedPanicked)
	e.publish(server.DomainLifecycle{Domain: v.ref, Event: server.EventCrashed, Detail: server.EventCrashedPanicked})
	e.afterEnd(ctx, d, run, run.doc().OnCrash, server.ShutoffCrashed, server.EventStoppedCrashed)
}

// afterEnd does what the document says should follow. It runs as a job of its own, so that the guest's other events are
// still read meanwhile.
func (e *Engine) afterEnd(ctx context.Context, d *domain, run *running, action string, reason, detail int32) {
	e.work.Go(func() {
		j, err := d.slot.Begin(ctx, "follow the end of domain '"+d.label+"'")
		if err != nil {
			return // the daemon is ending: the next one reads the state again
		}
		defer j.End()
		if d.view().run != run {
			return // it was destroyed meanwhile
		}
		switch action {
		case actionRestart:
			err = e.restart(j.Context(), d, run)
		case "preserve":
		default: // destroy, coredump-destroy
			err = e.stop(context.WithoutCancel(j.Context()), d, run, reason, detail)
		}
		if err != nil {
			e.log.Error("domain ended and what should follow failed", "domain", d.label, "action", action, "error", err)
		}
	})
}

// onWatchdog passes on that a guest's watchdog fired.
func (e *Engine) onWatchdog(_ context.Context, d *domain, run *running, ev qmp.Event) {
	var data struct {
		Action string `json:"action"`
	}
	_ = json.Unmarshal(ev.Data, &data)
	// virDomainEventWatchdogAction
	actions := map[string]int32{"none": 0, "pause": 1, "reset": 2, "poweroff": 3, "shutdown": 4, "debug": 5, "inject-nmi": 6}
	e.publish(server.DomainWatchdog{Domain: d.view().ref, Action: actions[data.Action]})
	if data.Action == "pause" {
		e.paused(d, run, server.PausedWatchdog, server.EventSuspendedWatchdog)
	}
}

// onIOError passes on that a disk failed; with werror=stop the guest now stands still. libvirt knows one reason by name.
func (e *Engine) onIOError(_ context.Context, d *domain, run *running, ev qmp.Event) {
	var data struct {
		Node    string `json:"node-name"`
		Action  string `json:"action"`
		NoSpace bool   `json:"nospace"`
	}
	_ = json.Unmarshal(ev.Data, &data)
	actions := map[string]int32{"ignore": 0, "stop": 1, "report": 2} // virDomainEventIOErrorAction: none, pause, report
	failed := server.DomainIOError{Domain: d.view().ref, Action: actions[data.Action]}
	if data.NoSpace {
		failed.Reason = "enospc"
	}
	target, _, _ := strings.Cut(data.Node, "-") // see guest.Compile
	for _, disk := range run.live(false).Devices.Disks {
		if disk.Target.Dev == target {
			failed.Path, failed.Alias = sourcePath(disk), diskAlias(disk)
		}
	}
	e.publish(failed)
	if data.Action == "stop" {
		e.paused(d, run, server.PausedIoerror, server.EventSuspendedIoerror)
	}
}
