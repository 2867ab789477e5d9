package launch

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"time"

	"taproom/internal/appliance/chain"
	"taproom/internal/image/qcow2"
	"taproom/internal/qemu"
)

// ErrNoMonitor means that an appliance is no QEMU with a monitor of its own, so that images cannot be resized or copied by it.
var ErrNoMonitor = errors.New("this way of launching has no monitor of QEMU; use auto, cold, template or pool")

// imager is a vm that resizes images and copies them while it runs.
type imager interface {
	resize(ctx context.Context, serial string, capacity uint64) error
	saveAs(ctx context.Context, serial string, f *os.File, o SaveOptions) error
}

// SaveOptions says how an image is copied.
type SaveOptions struct {
	Format   string // "raw" or "qcow2"
	Compress bool   // clusters of a qcow2
	// Progress gets bytes of the disk, several times a second; nil for none.
	Progress func(done, total int64)
}

// WriteEmpty makes an empty file an image of a format and capacity in bytes.
func WriteEmpty(f *os.File, format string, capacity uint64) error {
	const sector = 512
	capacity = (capacity + sector - 1) / sector * sector
	if format == chain.QCOW2 {
		return qcow2.Write(f, qcow2.Options{Capacity: capacity})
	}
	if format != chain.Raw {
		return fmt.Errorf("%w: %q; raw and qcow2 are made", chain.ErrFormat, format)
	}
	return f.Truncate(int64(capacity))
}

// Resize changes the capacity of a disk that is open for writing, in bytes. The kernel of the appliance notices when it rescans the disk.
func (a *Appliance) Resize(ctx context.Context, serial string, capacity uint64) error {
	a.attaching.Lock()
	defer a.attaching.Unlock()
	m, ok := a.vm.(imager)
	if !ok {
		return fmt.Errorf("resize the image: %w", ErrNoMonitor)
	}
	if err := m.resize(ctx, serial, capacity); err != nil {
		return fmt.Errorf("resize the image: %w", a.vm.said(ctx, err))
	}
	return nil
}

// SaveAs copies a disk, as the appliance sees it, to an empty file. Blocks that are zero take no room there. Data in the guest's memory is not
// in the copy: unmount its file systems first.
func (a *Appliance) SaveAs(ctx context.Context, serial string, capacity uint64, f *os.File, o SaveOptions) error {
	a.attaching.Lock()
	defer a.attaching.Unlock()
	m, ok := a.vm.(imager)
	if !ok {
		return fmt.Errorf("copy the image: %w", ErrNoMonitor)
	}
	err := WriteEmpty(f, o.Format, capacity)
	if err == nil {
		err = m.saveAs(ctx, serial, f, o)
	}
	if err != nil {
		return fmt.Errorf("copy the image: %w", a.vm.said(ctx, err))
	}
	return nil
}

// resize implements imager.
func (r *running) resize(ctx context.Context, serial string, capacity uint64) error {
	node, err := r.drive(serial)
	if err != nil {
		return err
	}
	return r.qemu.QMP().Execute(ctx, "block_resize", map[string]any{"node-name": node, "size": capacity}, nil)
}

// drive is the node of QEMU that a disk reads and writes.
func (r *running) drive(serial string) (string, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	node, ok := r.drives[serial]
	if !ok {
		return "", fmt.Errorf("the appliance has no disk %q", serial)
	}
	return node, nil
}

// saveAs implements imager.
func (r *running) saveAs(ctx context.Context, serial string, f *os.File, o SaveOptions) error {
	drive, err := r.drive(serial)
	if err != nil {
		return err
	}
	r.bulks++ // a name that no other disk has
	p := planner{prefix: fmt.Sprintf("copy%d", r.bulks), set: firstSet + r.sets}
	storage := p.storage("file", driverOf(false), true, true, f)
	target := p.node(qemu.Props{
		{Key: "driver", Value: o.Format},
		{Key: "node-name", Value: p.prefix},
		{Key: "read-only", Value: false},
		{Key: "cache", Value: unsafeCache()},
		{Key: "discard", Value: "unmap"},
		{Key: "detect-zeroes", Value: "unmap"},
		{Key: "file", Value: storage},
	})
	r.sets += len(p.plan.sets)
	made, err := r.addNodes(ctx, p.plan)
	if err == nil {
		err = r.backUp(ctx, drive, target, o)
	}
	return errors.Join(err, r.dropNodes(ctx, p.plan, made))
}

// copyJob is the command that begins a copy. A backup can compress, and allocates the zeros of a raw file; a mirror makes holes of these.
func copyJob(job, drive, target string, o SaveOptions) (command string, args map[string]any) {
	args = map[string]any{"job-id": job, "device": drive, "target": target, "sync": "full", "auto-dismiss": false}
	if o.Format == chain.Raw {
		return "blockdev-mirror", args
	}
	args["compress"] = o.Compress
	return "blockdev-backup", args
}

// backUp has QEMU copy a node to the target, and returns when the job has ended.
func (r *running) backUp(ctx context.Context, drive, target string, o SaveOptions) error {
	job := "job-" + target
	status := &jobStatus{ready: make(chan struct{}, 1), concluded: make(chan struct{})}
	r.mu.Lock()
	if r.jobs == nil {
		r.jobs = map[string]*jobStatus{}
	}
	r.jobs[job] = status
	r.mu.Unlock()
	defer func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		delete(r.jobs, job)
	}()
	m := r.qemu.QMP()
	command, args := copyJob(job, drive, target, o)
	if err := m.Execute(ctx, command, args, nil); err != nil {
		return err
	}
	const often = 200 * time.Millisecond
	ticks := time.NewTicker(often)
	defer ticks.Stop()
	cancelled := ctx.Done()
	var late <-chan time.Time
	for {
		var err error
		select {
		case <-status.concluded:
			return errors.Join(context.Cause(ctx), r.dismiss(ctx, job))
		case <-status.ready:
			// A mirror would go on for ever; cancelled when it is ready, it ends with a whole copy.
			err = m.Execute(ctx, "block-job-cancel", map[string]string{"device": job}, nil)
		case <-m.Done():
			return m.Err()
		case <-cancelled:
			cancelled = nil
			if err := r.cancelJob(ctx, job); unlessRefused(err) != nil {
				return errors.Join(context.Cause(ctx), err)
			}
			late = time.After(takeBack)
		case <-late:
			return errors.Join(context.Cause(ctx), fmt.Errorf("QEMU has not ended the job %s within %v", job, takeBack))
		case <-ticks.C:
			r.reportCopy(ctx, job, o.Progress)
		}
		if unlessRefused(err) != nil && ctx.Err() == nil {
			return err
		}
	}
}

// cancelJob has QEMU end a job after its caller's interrupt.
func (r *running) cancelJob(ctx context.Context, job string) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), takeBack)
	defer cancel()
	return r.qemu.QMP().Execute(ctx, "job-cancel", map[string]string{"id": job}, nil)
}

// jobStatus is the state of a job by QEMU's events.
type jobStatus struct {
	ready     chan struct{} // of capacity 1: a mirror can become ready, have more to copy, and become ready again
	concluded chan struct{} // closed
}

// set notes a status. The caller holds the lock.
func (s *jobStatus) set(status string) {
	switch status {
	case "ready":
		select {
		case s.ready <- struct{}{}:
		default:
		}
	case "concluded":
		select {
		case <-s.concluded:
		default:
			close(s.concluded)
		}
	}
}

// reportCopy calls progress with how far a job is.
func (r *running) reportCopy(ctx context.Context, job string, progress func(done, total int64)) {
	if progress == nil {
		return
	}
	if s, err := r.job(ctx, job); err == nil {
		progress(s.Done, s.Total)
	}
}

// jobState is an answer of query-jobs.
type jobState struct {
	ID    string `json:"id"`
	Done  int64  `json:"current-progress"`
	Total int64  `json:"total-progress"`
	Error string `json:"error"`
}

func (r *running) job(ctx context.Context, id string) (jobState, error) {
	var list []jobState
	if err := r.qemu.QMP().Execute(ctx, "query-jobs", nil, &list); err != nil {
		return jobState{}, err
	}
	for _, s := range list {
		if s.ID == id {
			return s, nil
		}
	}
	return jobState{}, fmt.Errorf("QEMU has lost the job %s", id)
}

// dismiss returns the error of a job that has ended, and has QEMU forget it.
func (r *running) dismiss(ctx context.Context, job string) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), takeBack)
	defer cancel()
	s, err := r.job(ctx, job)
	if err == nil && s.Error != "" {
		err = errors.New(s.Error)
	}
	return errors.Join(err, r.qemu.QMP().Execute(ctx, "job-dismiss", map[string]string{"id": job}, nil))
}

// jobChanged handles a JOB_STATUS_CHANGE event.
func (r *running) jobChanged(data json.RawMessage) {
	var e struct {
		ID     string `json:"id"`
		Status string `json:"status"`
	}
	if json.Unmarshal(data, &e) != nil {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if status, waits := r.jobs[e.ID]; waits {
		status.set(e.Status)
	}
}
