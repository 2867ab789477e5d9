package agent

import (
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"os"
	"os/signal"

	"golang.org/x/sys/unix"
)

// power ends the guest.
type power struct {
	console *console
}

func (p *power) off(why string) {
	p.end(why+": powering off", unix.LINUX_REBOOT_CMD_POWER_OFF)
}

func (p *power) restart(why string) {
	p.end(why+": restarting", unix.LINUX_REBOOT_CMD_RESTART)
}

func (p *power) end(what string, cmd int) {
	p.console.printf("%s", what)
	unix.Sync()
	if err := unix.Reboot(cmd); err != nil {
		p.console.printf("%s: %v", what, err)
	}
}

// crash makes the kernel panic, as a fault of its own would.
func (p *power) crash() error {
	p.console.printf("crashing the kernel on request")
	unix.Sync()
	_ = os.WriteFile("/proc/sys/kernel/sysrq", []byte("1"), 0)
	if err := os.WriteFile("/proc/sysrq-trigger", []byte("c"), 0); err != nil {
		return fmt.Errorf("crash the kernel through /proc/sysrq-trigger: %w", err)
	}
	return nil
}

// watchSignals restarts the guest when Ctrl-Alt-Del is pressed: the kernel is told to send a signal instead of
// restarting at once, so that disks are synced.
func (p *power) watchSignals(ctx context.Context) {
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, unix.SIGINT)
	defer signal.Stop(signals)
	if err := unix.Reboot(unix.LINUX_REBOOT_CMD_CAD_OFF); err != nil {
		p.console.printf("take over Ctrl-Alt-Del: %v", err)
	}
	select {
	case <-ctx.Done():
	case <-signals:
		p.restart("Ctrl-Alt-Del")
	}
}

const (
	inputEventSize = 24 // struct input_event: two longs of time, type, code, value
	evKey          = 1
	keyPower       = 116
)

// watchKeys waits for the power button on an input device, until the device goes away.
func (p *power) watchKeys(device string) {
	f, err := os.Open(device)
	if err != nil {
		return
	}
	defer f.Close()
	if pressed(f) {
		p.off("power button")
	}
}

// pressed reads input events and reports whether the power button came before the end.
func pressed(r io.Reader) bool {
	var event [inputEventSize]byte
	for {
		if _, err := io.ReadFull(r, event[:]); err != nil {
			return false
		}
		kind := binary.NativeEndian.Uint16(event[16:])
		code := binary.NativeEndian.Uint16(event[18:])
		value := binary.NativeEndian.Uint32(event[20:])
		if kind == evKey && code == keyPower && value == 1 {
			return true
		}
	}
}
