package engine

import (
	"context"
	"encoding/json"
	"errors"

	"taproom/internal/api/virterr"
	"taproom/internal/qemu/qmp"
	"taproom/internal/spec"
)

// taintMonitor is what is said of a guest whose QEMU was given a command of somebody's own.
const taintMonitor = "custom monitor control commands issued"

// MonitorCommand implements server.Monitors. What QEMU does then, its events tell; the daemon does not look.
func (e *Engine) MonitorCommand(ctx context.Context, uuid spec.UUID, command string, human bool) (answer string, err error) {
	q, err := monitorCommand(command, human)
	if err != nil {
		return "", err
	}
	err = e.control(ctx, uuid, "command the QEMU of", func(ctx context.Context, d *domain, run *running) error {
		if err := e.taintHeld(d, run, taintMonitor); err != nil {
			return err
		}
		var ret json.RawMessage
		err := run.mon.Execute(ctx, q.Execute, q.arguments(), &ret)
		refusal := (*qmp.Error)(nil)
		switch {
		case err == nil && human:
			return monitorError(d, "command the QEMU of", json.Unmarshal(ret, &answer))
		case err == nil:
			answer, err = q.answer(map[string]any{"return": ret})
		case errors.As(err, &refusal) && !human:
			answer, err = q.answer(map[string]any{"error": map[string]string{"class": refusal.Class, "desc": refusal.Desc}})
		}
		return monitorError(d, "command the QEMU of", err)
	})
	return answer, err
}

// monitorRequest is a command for QEMU's monitor as a client wrote it.
type monitorRequest struct {
	Execute   string          `json:"execute"`
	Arguments json.RawMessage `json:"arguments"`
	ID        json.RawMessage `json:"id"`
}

func monitorCommand(command string, human bool) (q monitorRequest, err error) {
	if human {
		line, err := json.Marshal(map[string]string{"command-line": command})
		return monitorRequest{Execute: "human-monitor-command", Arguments: line}, err
	}
	if err := json.Unmarshal([]byte(command), &q); err != nil || q.Execute == "" {
		return q, virterr.New(virterr.InvalidArg, `the command for QEMU's monitor is no JSON object with an "execute": %v; commands of its human monitor want --hmp`, err)
	}
	return q, nil
}

func (q *monitorRequest) arguments() any {
	if len(q.Arguments) == 0 {
		return nil
	}
	return q.Arguments
}

// answer is what QEMU answered, with the client's own number for the command.
func (q *monitorRequest) answer(m map[string]any) (string, error) {
	if len(q.ID) > 0 {
		m["id"] = q.ID
	}
	b, err := json.Marshal(m)
	return string(b), err
}
