package bench

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"

	"taproom/internal/sandbox"
)

// The operations that are counted.
const (
	networkStart   = "network_start"
	guestStart     = "guest_start"
	nicAttach      = "nic_attach"
	applianceClone = "appliance_clone"
)

// countedOperations are all of them, in the order of a report.
func countedOperations() []string {
	return []string{networkStart, guestStart, nicAttach, applianceClone}
}

// countersBench is a run of the counters benchmark.
type countersBench struct {
	o       Options
	dir     string
	daemon  *countedDaemon
	clones  *countedClones
	samples map[string][]cost // by operation
}

// runCounters counts the costs of an operation that do not scatter as time does: programs that are executed, starts of QEMU,
// calls into the host, netlink messages, and bytes allocated on the heap. The operations are the start of a NAT network while
// another is active, the start of a guest with a NIC, the attach of a NIC to it, and the launch of an appliance from a template.
//
// Calls into the host are announced to host.Kernel's hook and counted by name, and netlink messages are counted where
// host.Kernel and nft.Conn send them. System calls are not counted: the Go runtime's own (futex, epoll_pwait, madvise) depend
// on how goroutines are scheduled. The three operations of a daemon are counted in the daemon, the launch in this process. Both run
// on a single processor and never collect garbage, so that pools of memory are neither split nor emptied.
//
// A count is the least of all rounds after a first that fills caches: the daemon's timers only add to it. Of the bytes it is the
// median of the rounds with the fewest calls, in which no timer expired: rare rounds allocate less than the others.
func runCounters(ctx context.Context, o Options) (r *Report, err error) {
	table := &CountTable{File: o.Counters}
	old, fileWith, err := readCounters(o.Counters, o.Renew)
	if err != nil {
		return nil, err
	}
	b := &countersBench{o: o, samples: map[string][]cost{}}
	defer func() { err = errors.Join(err, b.close(context.WithoutCancel(ctx))) }()
	r = newReport("counters")
	if r.Host.QEMU, err = qemuVersion(ctx); err != nil {
		return nil, err
	}
	if err := b.open(ctx); err != nil {
		return nil, err
	}
	for round := range o.Rounds + 1 {
		if err := b.round(ctx, round > 0); err != nil {
			return nil, fmt.Errorf("round %d of %d: %w", round, o.Rounds, err)
		}
		o.Progress(round, o.Rounds)
	}
	for _, name := range countedOperations() {
		r.add(costSeries(name, b.samples[name]))
		table.Operations = append(table.Operations, summarise(name, b.samples[name]))
	}
	table.FileWith, table.With = fileWith, with(r.Host)
	r.Counts = table
	if o.Counters == "" {
		return r, nil
	}
	table.Differences = compareCounters(old, table.Operations)
	if o.Renew {
		err = writeCounters(o.Counters, r.Host, old, table.Operations)
	}
	return r, err
}

// open makes the daemon and the template of appliances.
func (b *countersBench) open(ctx context.Context) (err error) {
	if b.dir, err = os.MkdirTemp("", "taproom-"); err != nil {
		return err
	}
	if err := os.Chmod(b.dir, 0o755); err != nil { // the users of the guest and of the network helper walk through it
		return err
	}
	if err := sandbox.IP(ctx, "link", "add", benchBridge, "type", "bridge"); err != nil {
		return err
	}
	if b.daemon, err = startCounted(ctx, b.dir, b.o.Programs); err != nil {
		return err
	}
	b.clones, err = openClones(ctx, b.dir, b.o.Programs)
	return err
}

// round does every operation once and undoes it, which is not counted.
func (b *countersBench) round(ctx context.Context, counts bool) error {
	keep := func(name string, c cost, err error) error {
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		if counts {
			b.samples[name] = append(b.samples[name], c)
		}
		return nil
	}
	if err := b.daemon.round(ctx, keep); err != nil {
		return err
	}
	c, err := b.clones.launch(ctx)
	return keep(applianceClone, c, err)
}

func (b *countersBench) close(ctx context.Context) error {
	var errs []error
	if b.clones != nil {
		errs = append(errs, b.clones.close())
	}
	if b.daemon != nil {
		errs = append(errs, b.daemon.close(ctx))
	}
	if b.dir != "" {
		errs = append(errs, os.RemoveAll(b.dir))
	}
	if err := errors.Join(errs...); err != nil {
		return fmt.Errorf("clean up after the benchmark: %w", err)
	}
	return nil
}

// costSeries are the figures of an operation.
func costSeries(operation string, all []cost) []Series {
	series := func(name, unit string, value func(cost) float64) Series {
		s := Series{Name: operation + "." + name, Unit: unit}
		for _, c := range all {
			s.Samples = append(s.Samples, value(c))
		}
		return s
	}
	return []Series{
		series(countPrograms, "each", func(c cost) float64 { return float64(c.programs) }),
		series(countQEMUStarts, "each", func(c cost) float64 { return float64(c.qemuStarts) }),
		series(countHostCalls, "each", func(c cost) float64 { return float64(total(c.calls)) }),
		series(countNetlink, "each", func(c cost) float64 { return float64(c.netlink) }),
		series(countAllocated, "B", func(c cost) float64 { return float64(c.allocated) }),
	}
}

// summarise returns the counts of an operation: the least of all rounds for each count and for each call into the host by itself,
// but for the bytes.
func summarise(name string, all []cost) Operation {
	o := Operation{Name: name, Calls: map[string]uint64{}}
	for call := range all[0].calls {
		if n := sorted(all, func(c cost) uint64 { return c.calls[call] })[0]; n > 0 { // or a timer made it
			o.Calls[call] = n
		}
	}
	o.HostCalls = total(o.Calls)
	o.Programs = sorted(all, func(c cost) uint64 { return uint64(c.programs) })[0]
	o.QEMUStarts = sorted(all, func(c cost) uint64 { return uint64(c.qemuStarts) })[0]
	o.Netlink = sorted(all, func(c cost) uint64 { return c.netlink })[0]
	fewest := sorted(all, func(c cost) uint64 { return total(c.calls) })[0]
	undisturbed := slices.DeleteFunc(slices.Clone(all), func(c cost) bool { return total(c.calls) > fewest })
	o.Allocated = sorted(undisturbed, func(c cost) uint64 { return c.allocated })[len(undisturbed)/2]
	return o
}

// sorted returns a value of all rounds, the least first.
func sorted(all []cost, value func(cost) uint64) []uint64 {
	out := make([]uint64, len(all))
	for i, c := range all {
		out[i] = value(c)
	}
	slices.Sort(out)
	return out
}

func total(calls map[string]uint64) (n uint64) {
	for _, v := range calls {
		n += v
	}
	return n
}
