package bench

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"taproom/internal/api/client"
	"taproom/internal/api/remote"
	"taproom/internal/engine"
)

// The guests of the benchmark besides the crowd.
const (
	manyName      = "many"
	neighbourName = "neighbour"
)

// manySide is a daemon, ours or a peer.
type manySide struct {
	prefix string
	bench  *manyBench
	side   side
	end    func(context.Context) error

	many, neighbour remote.Domain
	guests          []remote.Domain
	clients         []*client.Client
	events          <-chan any

	took   []float64 // starts of the guest with many NICs, of every round
	names  []string  // of series, in their order
	series map[string][]float64
}

// define defines the guests and connects the clients.
func (s *manySide) define(ctx context.Context) (err error) {
	c, o := s.side.client(), s.bench.o
	if s.many, err = c.DefineDomain(ctx, manyDocument(o, manyName, 0, o.NICs, s.bench.firmware)); err != nil {
		return err
	}
	if s.neighbour, err = c.DefineDomain(ctx, manyDocument(o, neighbourName, 1, 1, s.bench.firmware)); err != nil {
		return err
	}
	for i := range o.Guests {
		d, err := c.DefineDomain(ctx, manyDocument(o, fmt.Sprintf("crowd%d", i), 2+i, crowdNICs, s.bench.firmware))
		if err != nil {
			return err
		}
		s.guests = append(s.guests, d)
	}
	for range crowdClients {
		another, err := client.Dial(ctx, s.side.socket(), client.Options{})
		if err != nil {
			return err
		}
		s.clients = append(s.clients, another)
	}
	s.events, _, err = c.Lifecycle(ctx)
	return err
}

// one starts the guest with many NICs, which is the figure, and ends it by every way there is.
func (s *manySide) one(ctx context.Context) (float64, error) {
	c := s.side.client()
	took, err := s.timed("", func() error { _, err := c.StartDomain(ctx, s.many, startPaused); return err })
	if err != nil {
		return 0, err
	}
	s.took = append(s.took, took)
	if own, ok := s.side.(*ownDaemon); ok {
		if err := s.trace(ctx, own); err != nil {
			return 0, err
		}
	}
	if _, err := s.timed("destroy", func() error { return c.DestroyDomain(ctx, s.many) }); err != nil {
		return 0, err
	}
	return took, errors.Join(s.powerOff(ctx), s.kill(ctx))
}

// timed does something, and keeps what it took, in ms, where it has a name.
func (s *manySide) timed(name string, do func() error) (float64, error) {
	began := time.Now()
	if err := do(); err != nil {
		return 0, err
	}
	took := milliseconds(time.Since(began))
	if name != "" {
		s.keep(s.guestFigure(name), took)
	}
	return took, nil
}

func (s *manySide) guestFigure(name string) string {
	return fmt.Sprintf("%s.%d.%s", s.bench.o.Kind, s.bench.o.NICs, name)
}

func (s *manySide) crowdFigure(name string) string {
	return fmt.Sprintf("%s.%dx%d.%s", s.bench.o.Kind, s.bench.o.Guests, crowdNICs, name)
}

func (s *manySide) keep(name string, v float64) {
	if s.series[name] == nil {
		s.names = append(s.names, name)
	}
	s.series[name] = append(s.series[name], v)
}

// trace keeps what our daemon tells of the start.
func (s *manySide) trace(ctx context.Context, own *ownDaemon) error {
	t, err := own.conn.Trace(ctx, manyName)
	if err != nil {
		return err
	}
	for _, span := range t.Spans {
		s.keep(s.guestFigure("stage."+span.Name), float64(span.Took)/1000)
	}
	return nil
}

// Events of a domain's life (virDomainEventType).
const (
	eventStopped  = 5
	eventShutdown = 6
)

// await returns when the guest with many NICs has told of an event.
func (s *manySide) await(ctx context.Context, event int32) error {
	for {
		select {
		case e, ok := <-s.events:
			if !ok {
				return errors.New("the daemon tells of no events any more")
			}
			l, ok := e.(client.DomainLifecycle)
			if ok && l.Domain.Name == manyName && l.Event == event {
				return nil
			}
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// fresh starts the guest, and forgets what was told before.
func (s *manySide) fresh(ctx context.Context) error {
	for len(s.events) > 0 {
		<-s.events
	}
	_, err := s.side.client().StartDomain(ctx, s.many, startPaused)
	return err
}

// powerOff has the guest power itself off: from when that is known until nothing of the guest is left.
func (s *manySide) powerOff(ctx context.Context) error {
	if err := s.fresh(ctx); err != nil {
		return err
	}
	if err := s.side.client().ResumeDomain(ctx, s.many); err != nil {
		return err
	}
	if err := s.await(ctx, eventShutdown); err != nil {
		return err
	}
	_, err := s.timed("poweroff", func() error { return s.await(ctx, eventStopped) })
	return err
}

// kill kills the guest's QEMU. Meanwhile a neighbour starts and stops, again and again: the longest of these is what others
// are kept waiting.
func (s *manySide) kill(ctx context.Context) error {
	if err := s.fresh(ctx); err != nil {
		return err
	}
	pid, err := s.qemu()
	if err != nil {
		return err
	}
	ended := make(chan struct{})
	var longest time.Duration
	var starts error
	var other sync.WaitGroup
	other.Go(func() {
		for c := s.clients[0]; starts == nil; {
			began := time.Now()
			if _, starts = c.StartDomain(ctx, s.neighbour, startPaused); starts == nil {
				starts = c.DestroyDomain(ctx, s.neighbour)
			}
			longest = max(longest, time.Since(began))
			select {
			case <-ended:
				return
			default:
			}
		}
	})
	_, err = s.timed("killed", func() error { return errors.Join(unix.Kill(pid, unix.SIGKILL), s.await(ctx, eventStopped)) })
	close(ended)
	other.Wait()
	s.keep(s.guestFigure("killed.neighbour"), milliseconds(longest))
	return errors.Join(err, starts)
}

// qemu is the process number of the guest's QEMU.
func (s *manySide) qemu() (int, error) {
	if own, ok := s.side.(*ownDaemon); ok {
		var file struct{ PID int }
		b, err := os.ReadFile(filepath.Join(engine.NewPaths(own.daemon.Root).Guest(s.many.UUID.String()), "pid"))
		if err == nil {
			err = json.Unmarshal(b, &file)
		}
		return file.PID, err
	}
	b, err := os.ReadFile("/proc/" + strconv.Itoa(s.side.pid()) + "/root/run/libvirt/qemu/" + manyName + ".pid")
	if err != nil {
		return 0, err
	}
	return strconv.Atoi(strings.TrimSpace(string(b)))
}

// crowd starts all of the crowd from several clients at once, which is the figure, and stops it the same way.
func (s *manySide) crowd(ctx context.Context) (float64, error) {
	took, err := s.timed("", func() error {
		return s.each(func(c *client.Client, d remote.Domain) error {
			_, err := c.StartDomain(ctx, d, startPaused)
			return err
		})
	})
	if err != nil {
		return 0, err
	}
	began := time.Now()
	err = s.each(func(c *client.Client, d remote.Domain) error { return c.DestroyDomain(ctx, d) })
	s.keep(s.crowdFigure("remove"), milliseconds(time.Since(began)))
	return took, err
}

// each does something with every guest of the crowd; each client takes the next one.
func (s *manySide) each(do func(*client.Client, remote.Domain) error) error {
	next := make(chan remote.Domain, len(s.guests))
	for _, d := range s.guests {
		next <- d
	}
	close(next)
	errs := make([]error, len(s.clients))
	var all sync.WaitGroup
	for i, c := range s.clients {
		all.Go(func() {
			for d := range next {
				errs[i] = errors.Join(errs[i], do(c, d))
			}
		})
	}
	all.Wait()
	return errors.Join(errs...)
}

// derived are the rounds that count, which are all but the first: our share of the start, and what else was timed.
func (s *manySide) derived(floor *bareQEMU) []Series {
	var out []Series
	if _, ok := s.side.(*ownDaemon); ok {
		out = append(out, Series{Name: s.prefix + s.guestFigure("own"), Unit: "ms", Samples: floor.share(s.took)})
	}
	for _, name := range s.names {
		if samples := s.series[name][1:]; len(samples) > 0 {
			out = append(out, Series{Name: s.prefix + name, Unit: "ms", Samples: samples})
		}
	}
	return out
}

// close ends what still runs and the daemon.
func (s *manySide) close(ctx context.Context) error {
	c := s.side.client()
	for _, d := range append([]remote.Domain{s.many, s.neighbour}, s.guests...) {
		if d.Name != "" {
			_ = c.DestroyDomain(ctx, d) // most have ended
			_ = c.UndefineDomain(ctx, d, 0)
		}
	}
	for _, c := range s.clients {
		_ = c.Close()
	}
	return s.end(ctx)
}
