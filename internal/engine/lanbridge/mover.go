package lanbridge

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"taproom/internal/engine/store"
	"taproom/internal/host"
	"taproom/internal/network/lan"
	"taproom/internal/network/lanfiles"
)

// Errors that callers tell apart.
var (
	ErrUnknown = errors.New("taproom made no bridge")
	ErrRefused = errors.New("refused")
)

// Config is what a Mover needs.
type Config struct {
	Kernel  *host.Kernel
	Records string // the journal's folder
	Root    string // of the host's configuration
	Log     *slog.Logger
	// Problem tells of what nobody asked for and somebody should know, Solved that it is none any more.
	Problem, Solved func(string)
	// Again is how long after a way back that failed it is tried again; zero is 10 s.
	Again time.Duration
}

// Mover makes bridges of NICs. One thing is done at a time.
type Mover struct {
	Config
	root    fs.FS
	boot    string
	records *store.Store[record]

	mu     sync.Mutex
	trials map[string]context.CancelFunc // timers, by bridge: of trials, and of what is tried again
	told   map[string]string             // what was told of those that are tried again
	work   sync.WaitGroup
	ctx    context.Context
	cancel context.CancelFunc
}

// Open prepares it, and brings to an end what an earlier one began. Close ends it.
func Open(ctx context.Context, c Config) (*Mover, error) {
	if c.Root == "" {
		c.Root = "/"
	}
	if c.Again == 0 {
		c.Again = 10 * time.Second
	}
	m := &Mover{Config: c, root: c.Kernel.Tree(c.Root), trials: map[string]context.CancelFunc{}, told: map[string]string{}}
	m.ctx, m.cancel = context.WithCancel(context.WithoutCancel(ctx))
	var err error
	if m.boot, err = c.Kernel.BootID(); err != nil {
		return nil, err
	}
	if m.records, err = store.Open[record](c.Kernel, c.Records, true); err != nil {
		return nil, err
	}
	all, err := m.all()
	if err != nil {
		return nil, err
	}
	for _, r := range all {
		if err := m.settle(ctx, r); err != nil {
			m.again(r, err)
		}
	}
	return m, nil
}

// Close ends trials badly, and what else is under way as it would be in the end: nobody else has the timer.
func (m *Mover) Close() {
	m.mu.Lock()
	all, err := m.all()
	for _, r := range all {
		m.disarm(r.Bridge)
		if r.State != Waiting {
			err = errors.Join(err, m.settle(m.ctx, r))
			continue
		}
		m.Log.Warn("taproomd ends, and nobody has kept the bridge: all goes back", "bridge", r.Bridge, "nic", r.NIC)
		err = errors.Join(err, m.back(m.ctx, r))
	}
	m.mu.Unlock()
	m.cancel()
	m.work.Wait()
	if err != nil {
		m.Log.Error("bridges of NICs cannot be brought to an end; that is tried again when taproomd starts", "error", err)
	}
}

// settle goes on with what a record says was under way.
func (m *Mover) settle(ctx context.Context, r *record) error {
	same := r.Boot == m.boot
	switch r.State {
	case Moving, Waiting:
		if !same { // nothing of it outlived the boot
			return m.records.Delete(r.Bridge)
		}
		if left := m.left(r); r.State == Waiting && left > 0 {
			m.arm(r.Bridge, left)
			return nil
		}
		m.Log.Warn("nobody kept the bridge in time: all goes back", "bridge", r.Bridge, "nic", r.NIC)
		return m.back(ctx, r)
	case Keeping:
		return m.write(r)
	case Undoing:
		if !same {
			if err := m.fromBridge(r); err != nil {
				return err
			}
		}
		return m.undo(ctx, r)
	}
	return nil
}

// left is how long a trial goes on.
func (m *Mover) left(r *record) time.Duration {
	now, err := m.Kernel.Uptime()
	if err != nil {
		return 0
	}
	return max(0, time.Duration(r.Deadline-now))
}

// arm begins a timer, after which a move is settled.
func (m *Mover) arm(bridge string, after time.Duration) {
	ctx, cancel := context.WithCancel(m.ctx)
	m.trials[bridge] = cancel
	over := time.NewTimer(after)
	m.work.Go(func() {
		defer over.Stop()
		select {
		case <-ctx.Done():
		case <-over.C:
			m.expire(ctx, bridge)
		}
	})
}

// again has what failed be tried again, for as long as it takes: who is cut off can do nothing about it. What was refused
// waits for the next daemon.
func (m *Mover) again(r *record, err error) {
	m.disarm(r.Bridge)
	if errors.Is(err, ErrRefused) {
		m.tell(r.Bridge, fmt.Sprintf("bridge %s of %s is %s, and stays so: %v", r.Bridge, r.NIC, r.State, err))
		return
	}
	m.tell(r.Bridge, fmt.Sprintf("bridge %s of %s is %s, and cannot be brought to an end; that is tried again every %s: %v", r.Bridge, r.NIC, r.State, m.Again, err))
	m.arm(r.Bridge, m.Again)
}

// tell tells of a bridge's problem, once, in place of what was told of it before; "" is none.
func (m *Mover) tell(bridge, problem string) {
	old := m.told[bridge]
	if old == problem {
		return
	}
	if old != "" {
		m.Solved(old)
		delete(m.told, bridge)
	}
	if problem != "" {
		m.told[bridge] = problem
		m.Problem(problem)
	}
}

// disarm ends it.
func (m *Mover) disarm(bridge string) {
	if end := m.trials[bridge]; end != nil {
		end()
		delete(m.trials, bridge)
	}
}

// expire ends a trial that nobody has kept, or what could not be ended before.
func (m *Mover) expire(ctx context.Context, bridge string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if ctx.Err() != nil { // somebody was faster
		return
	}
	m.disarm(bridge)
	r, err := m.of(bridge)
	switch {
	case errors.Is(err, ErrUnknown): // somebody has undone it
	case err != nil:
		m.tell(bridge, fmt.Sprintf("bridge %s: what becomes of it cannot be read; that is tried again every %s: %v", bridge, m.Again, err))
		m.arm(bridge, m.Again)
		return
	default:
		if err := m.settle(m.ctx, r); err != nil {
			m.again(r, err)
			return
		}
	}
	m.tell(bridge, "")
}

// rounds is how often the way back is tried: what one round leaves, since somebody else changes something, the next one sees.
const rounds = 3

// back makes all as it was, and forgets the move.
func (m *Mover) back(ctx context.Context, r *record) error {
	if _, err := m.converge(ctx, r.NIC, r.Bridge, r.Before); err != nil {
		return fmt.Errorf("give %s back what it had: %w", r.NIC, err)
	}
	return m.records.Delete(r.Bridge)
}

// converge brings about a layout from whatever there is.
func (m *Mover) converge(ctx context.Context, nic, bridge string, want lan.Layout) (took time.Duration, err error) {
	for range rounds {
		s, lerr := lan.Look(m.Kernel, nic, bridge)
		if lerr != nil {
			err = lerr
			continue
		}
		steps := lan.Plan(s, want)
		if len(steps) == 0 {
			return took, nil
		}
		var once time.Duration
		if once, err = lan.Apply(ctx, m.Kernel, s, steps, true); err == nil {
			return took + once, nil
		}
		took += once
		m.Log.Warn("hand over a NIC's addresses", "nic", nic, "bridge", bridge, "error", err)
	}
	return took, err
}

// restore puts files back, in the order opposite to that in which they were written.
func (m *Mover) restore(files []lanfiles.Change) error {
	var errs []error
	for _, c := range slices.Backward(files) {
		errs = append(errs, m.file(c, c.After, c.Before, c.New))
	}
	return errors.Join(errs...)
}

// file makes a file be as it should be. One that somebody else has changed stays, and is an error.
func (m *Mover) file(c lanfiles.Change, from, to string, remove bool) error {
	full := filepath.Join(m.Root, c.Path)
	is, err := m.Kernel.ReadFile(full)
	switch absent := errors.Is(err, fs.ErrNotExist); {
	case err != nil && !absent:
		return err
	case absent && remove, !absent && !remove && string(is) == to:
		return nil
	case absent && from != "", !absent && string(is) != from:
		return fmt.Errorf("%s was changed by somebody else meanwhile, and stays as it is", full)
	}
	if err := m.Kernel.Mkdir(filepath.Dir(full), 0o755); err != nil {
		return err
	}
	if remove {
		if err := m.Kernel.Remove(full); err != nil {
			return err
		}
		return m.Kernel.SyncDir(filepath.Dir(full))
	}
	return m.Kernel.WriteFile(full, []byte(to), c.Mode.Perm(), true)
}
