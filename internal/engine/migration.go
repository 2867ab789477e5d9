package engine

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"time"

	"taproom/internal/qemu/qmp"
)

// QEMU writes and reads the state of a guest as a migration (qapi/migration.json), to and from a descriptor.

// migration is QEMU's word on a stream of a guest's state: query-migrate. Times are milliseconds, amounts bytes.
type migration struct {
	Status    string `json:"status"`
	Error     string `json:"error-desc"`
	TotalTime uint64 `json:"total-time"`
	Downtime  uint64 `json:"downtime"`
	SetupTime uint64 `json:"setup-time"`
	RAM       struct {
		Transferred uint64  `json:"transferred"`
		Remaining   uint64  `json:"remaining"`
		Total       uint64  `json:"total"`
		Duplicate   uint64  `json:"duplicate"` // pages
		Normal      uint64  `json:"normal"`    // pages
		NormalBytes uint64  `json:"normal-bytes"`
		DirtyRate   uint64  `json:"dirty-pages-rate"`
		SyncCount   uint64  `json:"dirty-sync-count"`
		PageSize    uint64  `json:"page-size"`
		Mbps        float64 `json:"mbps"`
	} `json:"ram"`
}

// over reports whether nothing more will come.
func (m migration) over() bool {
	return m.Status == "completed" || m.Status == "failed" || m.Status == "cancelled" || m.Status == "" || m.Status == "none"
}

const (
	// stateFD is what QEMU calls the descriptor of a guest's state.
	stateFD = "taproom-state"
	// unlimited is the most that QEMU 7.2 takes as a bandwidth, in bytes a second; libvirt gives it too.
	unlimited = math.MaxInt64 >> 20 << 20
	// finishingPause is between two questions whether it has finished with a migration. It takes QEMU less.
	finishingPause = 5 * time.Millisecond
	// cancelWithin is how long QEMU may take to let go of a stream.
	cancelWithin = 10 * time.Second
)

// tellsOfMigrations has QEMU send an event for each step of a migration.
func tellsOfMigrations() qmp.Command {
	return qmp.Command{Name: "migrate-set-capabilities", Args: map[string]any{
		"capabilities": []map[string]any{{"capability": "events", "state": true}},
	}}
}

// sendState has QEMU write a guest's state to a descriptor, of which it gets a copy, as fast as it can.
func (run *running) sendState(ctx context.Context, to *os.File) error {
	if err := run.mon.GetFD(ctx, stateFD, to); err != nil {
		return err
	}
	return run.mon.ExecuteBatch(ctx, []qmp.Command{
		tellsOfMigrations(),
		{Name: "migrate-set-parameters", Args: map[string]any{"max-bandwidth": int64(unlimited)}},
		{Name: "migrate", Args: map[string]any{"uri": "fd:" + stateFD}},
	})
}

// stateSent waits until QEMU has written the state, or says why it has not. Each step that QEMU tells of is a reason to
// ask; the guest's watcher hears of them.
func (run *running) stateSent(ctx context.Context) (migration, error) {
	for {
		m, over, err := run.stateStep(ctx)
		if err != nil || over {
			return m, err
		}
	}
}

// stateStep asks how far QEMU is, and where it is not at the end waits for its next step.
func (run *running) stateStep(ctx context.Context) (m migration, over bool, err error) {
	step := run.expected.next("MIGRATION")
	defer run.expected.forget("MIGRATION", step)
	m, err = run.queryMigration(ctx)
	if err != nil || m.over() {
		return m, true, err
	}
	select {
	case <-step:
		return m, false, nil
	case <-run.mon.Done():
		return m, true, errors.Join(errors.New("QEMU is gone"), run.mon.Err())
	case <-ctx.Done():
		return m, true, context.Cause(ctx)
	}
}

func (run *running) queryMigration(ctx context.Context) (m migration, err error) {
	err = run.mon.Execute(ctx, "query-migrate", nil, &m)
	return m, err
}

// cancelState has QEMU stop writing a state, and waits until the guest's processors can be told what to do again.
func (run *running) cancelState(ctx context.Context) error {
	m, err := run.queryMigration(ctx)
	if err == nil && !m.over() {
		if err = run.mon.Execute(ctx, "migrate_cancel", nil, nil); err == nil {
			_, err = run.stateSent(ctx)
		}
	}
	if err != nil {
		return err
	}
	for { // QEMU says that a migration failed before it has finished with it, and nothing when it has
		status, err := run.status(ctx)
		if err != nil || status != statusFinishing {
			return err
		}
		select {
		case <-time.After(finishingPause):
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// status is what QEMU says that the guest's processors do.
func (run *running) status(ctx context.Context) (runStatus, error) {
	var reply struct {
		Status runStatus `json:"status"`
	}
	err := run.mon.Execute(ctx, "query-status", nil, &reply)
	return reply.Status, err
}

// failed is why a migration that is over came to nothing; nil when it is whole.
func (m migration) failed() error {
	switch {
	case m.Status == "completed":
		return nil
	case m.Error != "":
		return fmt.Errorf("QEMU cannot write its state: %s", m.Error)
	}
	return fmt.Errorf("QEMU did not write its state to the end (%s)", m.Status)
}
