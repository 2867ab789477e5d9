package bench

import (
	"sync"
	"time"

	"taproom/internal/appliance/launch"
)

// bootStages are the points on the way of an appliance that boots, in their order. A clone has no kernel and init of its own.
var bootStages = []string{"exec", "kernel", "init", "restored", "agent", "shutdown"}

// stages collects when appliances reach them, in milliseconds after Launch was called. The first of each way is of the round
// that does not count.
type stages struct {
	mu      sync.Mutex
	way     string // "": nobody is interested
	began   time.Time
	at      map[launch.Stage]time.Time
	samples map[string]map[string][]float64 // by way and stage
	rounds  map[string]int
}

func (s *stages) begin(way string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.way, s.began, s.at = way, time.Now(), map[launch.Stage]time.Time{}
}

// trace is a launch.Spec's Trace.
func (s *stages) trace(stage launch.Stage, at time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.way != "" {
		s.at[stage] = at
	}
}

// end takes in an appliance that was ready after so long, and gone again so long after it was asked.
func (s *stages) end(ready, shutdown float64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	way := s.way
	s.way = ""
	if s.rounds == nil {
		s.rounds, s.samples = map[string]int{}, map[string]map[string][]float64{}
	}
	if s.rounds[way]++; s.rounds[way] == 1 {
		s.samples[way] = map[string][]float64{}
		return
	}
	add := func(stage string, ms float64) { s.samples[way][stage] = append(s.samples[way][stage], ms) }
	for _, stage := range []launch.Stage{launch.StageExec, launch.StageKernel, launch.StageInit, launch.StageRestored} {
		if at, ok := s.at[stage]; ok {
			add(string(stage), milliseconds(at.Sub(s.began)))
		}
	}
	add("agent", ready)
	add("shutdown", shutdown)
}

// series are the stages as figures: WAY.stage.STAGE, since the launch was asked for, but for shutdown, which is since that was.
func (s *stages) series() []Series {
	var out []Series
	for _, way := range []string{"verbose", "cold", "template"} {
		for _, stage := range bootStages {
			if v := s.samples[way][stage]; len(v) > 0 {
				out = append(out, Series{Name: way + ".stage." + stage, Unit: "ms", Samples: v})
			}
		}
	}
	return out
}
