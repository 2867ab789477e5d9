package bench

import (
	"context"
	"fmt"
)

// Contender is one side of a comparison. Run does the work once and returns the quantity in Unit.
type Contender struct {
	Name     string
	Unit     string
	Run      func(ctx context.Context) (float64, error)
	Optional bool // it may be missing here
}

// Turns runs every contender rounds times, A B B A A B, after one round that does not count, so that neither a machine whose
// speed drifts nor what a neighbour leaves to be cleaned up is unfair to anybody. An optional contender that fails in the
// round that does not count is skipped with its error; any other failure fails the run, since the figures would lack it.
func Turns(ctx context.Context, rounds int, contenders []Contender, progress func(done, total int)) ([]Series, []Skip, error) {
	samples := make([][]float64, len(contenders))
	var skipped []Skip
	dead := make([]bool, len(contenders))
	for round := range rounds + 1 {
		for at := range contenders {
			i := at
			if round%2 == 1 {
				i = len(contenders) - 1 - at
			}
			c := contenders[i]
			if dead[i] {
				continue
			}
			v, err := c.Run(ctx)
			switch {
			case err != nil && ctx.Err() != nil:
				return nil, nil, ctx.Err()
			case err != nil && round == 0 && c.Optional:
				dead[i] = true
				skipped = append(skipped, Skip{Name: c.Name, Why: err.Error()})
			case err != nil:
				return nil, nil, fmt.Errorf("%s, round %d of %d: %w", c.Name, round, rounds, err)
			case round > 0:
				samples[i] = append(samples[i], v)
			}
		}
		progress(round, rounds)
	}
	var all []Series
	for i, c := range contenders {
		if !dead[i] {
			all = append(all, Series{Name: c.Name, Unit: c.Unit, Samples: samples[i]})
		}
	}
	return all, skipped, nil
}
