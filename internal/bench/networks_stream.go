package bench

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"

	"taproom/internal/host"
)

// runStream measures what other networks cost a stream of packets from a guest to the outside: through the fewest of
// --active, and through the most. Each has a network namespace of its own, so that they take turns at once.
func runStream(ctx context.Context, o Options) (r *Report, err error) {
	b := &networkBench{o: o, k: host.New(host.Options{})}
	defer func() { err = errors.Join(err, b.close(context.WithoutCancel(ctx))) }()
	if err := b.folder(); err != nil {
		return nil, err
	}
	r = newReport("networks")
	r.Host.QEMU = "none" // no guest is started
	for _, backend := range o.Backends {
		why := b.lacks(backend)
		if backend == besideNFT || backend == besideIPTables {
			why = errors.New("firewalld rules over one network namespace, and the two sides have one each")
		}
		if why != nil {
			r.add(nil, Skip{Name: backend + ".stream", Why: why.Error()})
			continue
		}
		all, err := b.streams(ctx, backend)
		if err != nil {
			return nil, err
		}
		r.add(all)
	}
	return r, nil
}

// streams measures one back end.
func (b *networkBench) streams(ctx context.Context, backend string) (all []Series, err error) {
	var contenders []Contender
	for _, n := range []int{slices.Min(b.o.Active), slices.Max(b.o.Active)} {
		w, err := b.streamWorld(ctx, backend, n)
		if err != nil {
			return nil, err
		}
		defer func() { err = errors.Join(err, w.close(context.WithoutCancel(ctx))) }()
		contenders = append(contenders, Contender{Name: fmt.Sprintf("%s.stream.%d", backend, n), Unit: "Gbit/s", Run: w.stream})
	}
	all, _, err = Turns(ctx, b.o.Rounds, contenders, b.o.Progress)
	if err != nil {
		return nil, err
	}
	name := backend + ".stream.loss"
	loss := losses(all[0].Samples, all[1].Samples)
	low, high := interval(loss)
	return append(all, Series{Name: name, Unit: "%", Samples: loss},
		Series{Name: name + ".low", Unit: "%", Samples: []float64{low}}, Series{Name: name + ".high", Unit: "%", Samples: []float64{high}}), nil
}

// losses are by how much the second is less than the first, in percent, pair by pair.
func losses(first, second []float64) []float64 {
	out := make([]float64, len(first))
	for i := range first {
		out[i] = 100 * (1 - second[i]/first[i])
	}
	return out
}

// interval is where the mean of what the samples are taken from is, with 95 % confidence (Student's t). One sample says
// nothing of that: it is its own.
func interval(samples []float64) (low, high float64) {
	n := float64(len(samples))
	mean := sum(samples) / n
	if n < 2 {
		return mean, mean
	}
	var squares float64
	for _, v := range samples {
		squares += (v - mean) * (v - mean)
	}
	half := student(n-1) * math.Sqrt(squares/(n-1)/n)
	return mean - half, mean + half
}

// student is the 97.5 % quantile of Student's distribution with so many degrees of freedom, by the expansion in its inverse
// powers around the normal one's (Abramowitz and Stegun, 26.7.5): right to 0.1 % from 4 on, too small below.
func student(freedom float64) float64 {
	const z = 1.959964
	const z3, z5, z7 = z * z * z, z * z * z * z * z, z * z * z * z * z * z * z
	f := freedom
	return z + (z3+z)/4/f + (5*z5+16*z3+3*z)/96/(f*f) + (3*z7+19*z5+17*z3-15*z)/384/(f*f*f)
}
