package bench

import (
	"context"
	"errors"
	"fmt"
	"time"

	"taproom/internal/host"
	"taproom/internal/network/qos"
	"taproom/internal/network/state"
)

// ShapedCounts are the numbers of shaped NICs that are measured unless others are given.
func ShapedCounts() []int { return []int{10, 100, 1000} }

// MostShaped is the largest number of NICs that can be shaped at once: their descriptors are open.
const MostShaped = 4000

// fullShapeRounds is the largest number of NICs that are set up in every round; more are in a quarter of them.
const fullShapeRounds = 100

// changesTimed is how many NICs have their limits changed for one sample.
const changesTimed = 10

// manyShaped measures the set-up of limits in both directions for many NICs, and the change of a single NIC's limits among them.
type manyShaped struct {
	k    *host.Kernel
	rate uint64 // KiB/s of the next change; no two are equal
}

// runShapeMany measures N NICs with limits and the same NICs without, from the desired state to the kernel's last answer, by
// turns with a loop of the same requests to the kernel that computes and compares nothing. Then it changes limits of single NICs among N.
func runShapeMany(ctx context.Context, o Options) (*Report, error) {
	m := &manyShaped{k: host.New(host.Options{}), rate: 1024}
	defer m.k.Close()
	r := newReport("shape")
	r.Host.QEMU = "none"
	for _, n := range o.Shaped {
		rounds := o.Rounds
		if n > fullShapeRounds {
			rounds = max(min(rounds, 2), rounds/4)
		}
		made, err := m.setUps(ctx, n, rounds, o.Progress)
		if err != nil {
			return nil, err
		}
		changed, err := m.changes(ctx, n, o.Rounds, o.Progress)
		if err != nil {
			return nil, err
		}
		r.add(append(made, changed...))
	}
	r.Notes = append(r.Notes,
		"limited is N taps with limits in both directions, unlimited the same taps without; setup is the difference, each a NIC's share",
		"change is from one NIC's new limits, in both directions, to the kernel's answer: its queues are read, compared and changed")
	return r, nil
}

func manyFigure(n int, what string) string { return fmt.Sprintf("many.%d.%s", n, what) }

// setUps measures the limits of n NICs.
func (m *manyShaped) setUps(ctx context.Context, n, rounds int, progress func(int, int)) ([]Series, error) {
	own := func(limited bool) func(context.Context) (float64, error) {
		return func(ctx context.Context) (float64, error) {
			env := m.env()
			began := time.Now()
			err := converge(ctx, env, state.Observed{}, shapedNICs(n, limited))
			took := time.Since(began)
			return milliseconds(took), errors.Join(err, m.remove(ctx, env))
		}
	}
	all, _, err := Turns(ctx, rounds, []Contender{
		{Name: manyFigure(n, "unlimited"), Unit: "ms", Run: own(false)},
		{Name: manyFigure(n, "limited"), Unit: "ms", Run: own(true)},
		{Name: "floor." + manyFigure(n, "limits"), Unit: "ms", Run: func(ctx context.Context) (float64, error) { return m.bareSetUp(ctx, n) }},
	}, progress)
	if err != nil {
		return nil, err
	}
	each := Series{Name: manyFigure(n, "setup"), Unit: "µs each"}
	floor := Series{Name: "floor." + manyFigure(n, "setup"), Unit: "µs each"}
	for i, unlimited := range all[0].Samples {
		each.Samples = append(each.Samples, 1000*(all[1].Samples[i]-unlimited)/float64(n))
		floor.Samples = append(floor.Samples, 1000*all[2].Samples[i]/float64(n))
	}
	return append(all, floor, each), nil
}

// changes measures a change of a single NIC's limits among n NICs that have limits.
func (m *manyShaped) changes(ctx context.Context, n, rounds int, progress func(int, int)) (all []Series, err error) {
	env := m.env()
	defer func() { err = errors.Join(err, m.remove(context.WithoutCancel(ctx), env)) }()
	if err := converge(ctx, env, state.Observed{}, shapedNICs(n, true)); err != nil {
		return nil, err
	}
	indexes := make([][2]int, n)
	for i := range n {
		for side, name := range []string{tapName(i), shaperOf(i)} {
			l, err := m.k.LinkByName(name)
			if err != nil {
				return nil, err
			}
			indexes[i][side] = l.Index
		}
	}
	timed := func(change func(i int, bucket host.TBF) error) func(context.Context) (float64, error) {
		return func(context.Context) (float64, error) {
			began := time.Now()
			for c := range changesTimed {
				m.rate++
				if err := change(c*n/changesTimed, qos.Limit{Average: m.rate}.Bucket(shapeMTU)); err != nil {
					return 0, err
				}
			}
			return float64(time.Since(began).Nanoseconds()) / 1000 / changesTimed, nil
		}
	}
	all, _, err = Turns(ctx, rounds, []Contender{
		{Name: "floor." + manyFigure(n, "change"), Unit: "µs", Run: timed(func(i int, bucket host.TBF) error {
			return m.talk(func(p *host.Pipeline, done func(error)) {
				p.SetTBF(indexes[i][0], bucket, done)
				p.SetTBF(indexes[i][1], bucket, done)
			})
		})},
		{Name: manyFigure(n, "change"), Unit: "µs", Run: timed(func(i int, bucket host.TBF) error {
			want := state.State{Shapes: map[string]state.Shape{}, Shapers: map[string]state.Shaper{}}
			limit(&want, i, bucket)
			seen, err := state.Observe(ctx, env, state.Scope{Shapes: []string{tapName(i), shaperOf(i)}, Shapers: []string{shaperOf(i)}})
			if err != nil {
				return err
			}
			return converge(ctx, env, seen, want)
		})},
	}, progress)
	return all, err
}

// bareSetUp sends the requests that limit n taps, which exist, and nothing else. It returns how many milliseconds they took.
func (m *manyShaped) bareSetUp(ctx context.Context, n int) (float64, error) {
	env := m.env()
	taps := shapedNICs(n, false)
	for name, p := range taps.Ports {
		p.Up = false // limits come before a link is up
		taps.Ports[name] = p
	}
	if err := converge(ctx, env, state.Observed{}, taps); err != nil {
		return 0, errors.Join(err, m.remove(ctx, env))
	}
	bucket := qos.Limit{Average: 1024}.Bucket(shapeMTU)
	began := time.Now()
	ifbs := make([]int, n)
	err := m.talk(func(p *host.Pipeline, done func(error)) {
		for i := range n {
			p.CreateIFB(shaperOf(i), namesGroup, func(index int, err error) {
				ifbs[i] = index
				done(err)
			})
		}
	})
	for i := 0; i < n && err == nil; i++ {
		err = m.k.SetSysctl("net/ipv6/conf/"+shaperOf(i)+"/disable_ipv6", "1")
	}
	if err == nil {
		err = m.talk(func(p *host.Pipeline, done func(error)) {
			for i := range n {
				tap := env.Taps[tapName(i)].Index
				p.SetTBF(ifbs[i], bucket, done)
				p.SetLink(ifbs[i], host.LinkSettings{Up: true}, done)
				p.SetAlias(ifbs[i], state.Alias("bench"), done)
				p.SetTBF(tap, bucket, done)
				p.Redirect(tap, ifbs[i], done)
			}
		})
	}
	took := time.Since(began)
	return milliseconds(took), errors.Join(err, m.remove(ctx, env))
}

func (m *manyShaped) env() *state.Env { return &state.Env{Kernel: m.k, Group: namesGroup} }

// talk sends requests to the kernel and waits for the answers.
func (m *manyShaped) talk(say func(p *host.Pipeline, done func(error))) error {
	var all error
	p := m.k.Pipeline()
	say(p, func(err error) { all = errors.Join(all, err) })
	p.Flush()
	return all
}

// remove removes the links of a sample.
func (m *manyShaped) remove(ctx context.Context, env *state.Env) error {
	ctx = context.WithoutCancel(ctx)
	seen, err := state.Observe(ctx, env, state.Scope{All: true})
	if err != nil {
		return err
	}
	return converge(ctx, env, seen, state.State{})
}

// converge makes the host be as it should be.
func converge(ctx context.Context, env *state.Env, seen state.Observed, want state.State) error {
	p, err := state.Diff(env, seen, want)
	if err != nil {
		return err
	}
	return p.Apply(ctx, env)
}

func tapName(i int) string  { return fmt.Sprint("vnet", i) }
func shaperOf(i int) string { return fmt.Sprint("shape", i) }

// shapedNICs are n taps, with limits of 1,024 KiB/s in both directions or without.
func shapedNICs(n int, limited bool) state.State {
	s := state.State{Ports: map[string]state.Port{}, Shapes: map[string]state.Shape{}, Shapers: map[string]state.Shaper{}}
	for i := range n {
		s.Ports[tapName(i)] = state.Port{Owner: "bench", MAC: benchMAC("fe", i), NoIPv6: true, Up: true}
		if limited {
			limit(&s, i, qos.Limit{Average: 1024}.Bucket(shapeMTU))
		}
	}
	return s
}

// limit adds limits in both directions to a NIC.
func limit(s *state.State, i int, bucket host.TBF) {
	s.Shapers[shaperOf(i)] = state.Shaper{Owner: "bench", NoIPv6: true, Up: true}
	s.Shapes[tapName(i)] = state.Shape{Queue: qos.Queue{Bucket: bucket}, Through: shaperOf(i)}
	s.Shapes[shaperOf(i)] = state.Shape{Queue: qos.Queue{Bucket: bucket}}
}
