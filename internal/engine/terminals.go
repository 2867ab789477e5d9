package engine

import (
	"context"
	"strings"

	"taproom/internal/host"
)

// learnTerminals asks which pseudo-terminals QEMU opened, and which channels the guest has open.
func (e *Engine) learnTerminals(ctx context.Context, run *running) error {
	ptys, err := e.terminals(ctx, run)
	if err == nil {
		run.rec().PTYs = ptys
	}
	return err
}

// terminals are the paths of pseudo-terminals by the label of their character device.
func (e *Engine) terminals(ctx context.Context, run *running) (map[string]string, error) {
	var reply []struct {
		Label    string `json:"label"`
		Filename string `json:"filename"`
		Open     bool   `json:"frontend-open"`
	}
	if err := run.mon.Execute(ctx, "query-chardev", nil, &reply); err != nil {
		return nil, err
	}
	ptys := map[string]string{}
	for _, c := range reply {
		if tty, ok := terminal(c.Filename); ok {
			ptys[c.Label] = tty
		}
		if alias, ok := strings.CutPrefix(c.Label, "char"); ok {
			run.channels.set(alias, c.Open)
		}
	}
	return ptys, nil
}

// terminal is the path in what QEMU calls a pty backend: "pty:/dev/pts/3". A QEMU that was taken over may say anything.
func terminal(filename string) (string, bool) {
	path, ok := strings.CutPrefix(filename, "pty:")
	return path, ok && host.IsTerminal(path)
}
