package bench

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"taproom/internal/bench/stats"
	"taproom/internal/network/nwfilter"
	"taproom/internal/spec"
)

const (
	// MostFiltered is with how many NICs filters are measured.
	MostFiltered = 20_000
	// fullFilterRounds is up to how many NICs as many rounds are made as were asked for, with more a quarter of them.
	fullFilterRounds = 100
	// fewestPairs is how many pairs a comparison of packets has to have.
	fewestPairs = 20
)

// FilteredCounts are how many NICs have the filter, where nothing else is said.
func FilteredCounts() []int { return []int{1, 40, 1000} }

// filtered is the filter that is measured, and changed the same one after it was redefined.
const (
	filtered = "clean-traffic"
	changed  = `<filter name='clean-traffic'>
  <filterref filter='no-mac-spoofing'/>
  <filterref filter='no-ip-spoofing'/>
  <rule action='accept' direction='out' priority='-650'><mac protocolid='ipv4'/></rule>
  <filterref filter='allow-incoming-ipv4'/>
  <filterref filter='no-arp-spoofing'/>
  <rule action='accept' direction='inout' priority='-500'><mac protocolid='arp'/></rule>
  <rule action='drop' direction='inout' priority='-450'><mac protocolid='0x88cc'/></rule>
  <filterref filter='no-other-l2-traffic'/>
  <filterref filter='qemu-announce-self'/>
</filter>`
)

// filterBench is what the benchmark runs.
type filterBench struct {
	o       Options
	shipped nwfilter.Set
	changed nwfilter.Set // with the filter as it is after it was redefined
	worlds  []*filterWorld
}

// runFilter measures clean-traffic with one address per NIC, in nf_tables: how long a NIC's takes to be attached, one NIC after the
// other, from the documents to the kernel's answer; how long it takes to redefine the filter for the most NICs; and what it costs
// a packet when one NIC has it and when the most have. NICs other than the one that has the packets are names in nf_tables
// without links: the bridge and its ports are the same for one and for many. Whether the rules met are the same is told by
// the kernel's counters.
func runFilter(ctx context.Context, o Options) (r *Report, err error) {
	b := &filterBench{o: o}
	defer func() {
		for _, w := range b.worlds {
			err = errors.Join(err, w.close())
		}
	}()
	if b.shipped, err = nwfilter.ShippedSet(); err != nil {
		return nil, err
	}
	if b.changed, err = nwfilter.ShippedSet(); err != nil {
		return nil, err
	}
	if b.changed[filtered], err = spec.ParseFilter([]byte(changed)); err != nil {
		return nil, err
	}
	r = newReport("filter")
	r.Host.QEMU = "none" // no guest is started
	for _, n := range o.Filtered {
		all, err := b.attaching(ctx, n)
		if err != nil {
			return nil, err
		}
		r.add(all)
	}
	all, err := b.redefining(ctx, slices.Max(o.Filtered))
	if err != nil {
		return nil, err
	}
	r.add(all)
	if all, err = b.packets(ctx, slices.Min(o.Filtered), slices.Max(o.Filtered)); err != nil {
		return nil, err
	}
	r.add(all)
	r.Notes = b.notes(r)
	return r, nil
}

// world makes a namespace that the benchmark ends with.
func (b *filterBench) world(ctx context.Context) (*filterWorld, error) {
	w, err := newFilterWorld(ctx)
	if w != nil {
		b.worlds = append(b.worlds, w)
	}
	return w, err
}

// rounds is how often so many NICs are measured.
func (b *filterBench) rounds(n int) int {
	if n <= fullFilterRounds {
		return b.o.Rounds
	}
	return max(min(b.o.Rounds, 2), b.o.Rounds/4)
}

// filteredPort compiles the filter of the n-th NIC.
func filteredPort(c *nwfilter.Compiler, n int) (nwfilter.Port, error) {
	program, values, err := c.Compile(filtered, nwfilter.Params{"MAC": {filteredMAC(n).String()}, "IP": {filteredIP(n).String()}})
	if err != nil {
		return nwfilter.Port{}, err
	}
	return nwfilter.Port{Name: filteredName(n), Program: program, Values: values}, nil
}

// filteredPorts compiles the filter of n NICs, with a Compiler of its own.
func filteredPorts(set nwfilter.Set, n int) ([]nwfilter.Port, error) {
	c := nwfilter.NewCompiler(set)
	all := make([]nwfilter.Port, n)
	for i := range all {
		var err error
		if all[i], err = filteredPort(c, i); err != nil {
			return nil, err
		}
	}
	return all, nil
}

// packets measures the cost of a packet with no filter, with that of few NICs, and with that of most.
func (b *filterBench) packets(ctx context.Context, few, most int) ([]Series, error) {
	sizes := []int{0, few, most}
	var contenders []Contender
	var paths []*filterPath
	for _, n := range sizes {
		w, err := b.world(ctx)
		if err != nil {
			return nil, err
		}
		p, err := w.path(max(n, 1) - 1)
		if err != nil {
			return nil, err
		}
		ports, err := filteredPorts(b.shipped, n)
		if err != nil {
			return nil, err
		}
		if err := w.backend.Apply(ctx, ports, nil); err != nil {
			return nil, err
		}
		name := "floor.packet"
		if n > 0 {
			name = fmt.Sprintf("packet.%d", n)
		}
		paths = append(paths, p)
		contenders = append(contenders, Contender{Name: name, Unit: "ns", Run: p.run})
	}
	if few == most { // nothing to be compared
		contenders, paths = contenders[:2], paths[:2]
	}
	all, _, err := Turns(ctx, b.o.Rounds, contenders, b.o.Progress)
	if err != nil {
		return nil, err
	}
	for i, p := range paths {
		if sizes[i] > 0 {
			all = append(all, Series{Name: contenders[i].Name + ".rules", Unit: "each", Samples: p.rules[1:]})
		}
	}
	if few == most {
		return all, nil
	}
	less, more := all[1].Samples, all[2].Samples
	ratio, _ := stats.PairedRatio(more, less, stats.Confidence)
	percent := func(ratio float64) float64 { return 100 * (ratio - 1) }
	pairs := make([]float64, len(more))
	for i := range pairs {
		pairs[i] = percent(more[i] / less[i])
	}
	return append(all, Series{Name: "packet.more", Unit: "%", Samples: pairs},
		Series{Name: "packet.more.low", Unit: "%", Samples: []float64{percent(ratio.Low)}},
		Series{Name: "packet.more.high", Unit: "%", Samples: []float64{percent(ratio.High)}}), nil
}

// notes put figures beside those that they are to be compared with.
func (b *filterBench) notes(r *Report) (notes []string) {
	for _, n := range b.o.Filtered {
		own, _ := r.Figure(fmt.Sprintf("attach.%d", n))
		floor, _ := r.Figure(fmt.Sprintf("floor.attach.%d", n))
		notes = append(notes, fmt.Sprintf("attach.%d: %.2f × the bare transaction of the same elements; the first NIC's has the tables and the chains too", n, own.Median/floor.Median))
	}
	few, most := slices.Min(b.o.Filtered), slices.Max(b.o.Filtered)
	if few == most {
		return notes
	}
	middle, _ := r.Figure("packet.more")
	low, _ := r.Figure("packet.more.low")
	high, _ := r.Figure("packet.more.high")
	note := fmt.Sprintf("packet: with %d NICs %+.1f %% of that with %d, from %+.1f to %+.1f %% with %.0f %% confidence", most, middle.Median, few, low.Median, high.Median, 100*stats.Confidence)
	if middle.N < fewestPairs {
		note += fmt.Sprintf("; %d pairs are too few to rely on, %d are needed", middle.N, fewestPairs)
	}
	one, _ := r.Figure(fmt.Sprintf("packet.%d.rules", few))
	all, _ := r.Figure(fmt.Sprintf("packet.%d.rules", most))
	if one.Min != all.Min || one.Max != all.Max {
		note += fmt.Sprintf("; the rules met differ, %g to %g and %g to %g for a frame", one.Min, one.Max, all.Min, all.Max)
	}
	return append(notes, note)
}
