package probe

import (
	"taproom/internal/host"
)

// FairQueue tries whether a bucket can have a queue in which flows take turns (host.FairQueue).
func FairQueue() error { return Throwaway(func() error { return tryFairQueue(1) }) }

func tryFairQueue(link int) (err error) {
	k := host.New(host.Options{})
	defer k.Close()
	p := k.Pipeline()
	t := host.TBF{Rate: 1 << 20, Buffer: host.Ticks(1<<17, 1<<20), Limit: 1 << 20, Fair: host.FairQueue{Memory: 1 << 20, Target: 5000}}
	p.SetTBF(link, t, func(e error) { err = e })
	p.Flush()
	return err
}
