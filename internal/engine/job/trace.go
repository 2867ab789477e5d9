package job

import (
	"sync"
	"time"
)

// Span is one stage of a job. Start counts from the beginning of the trace.
type Span struct {
	Name  string        `json:"name"`
	Start time.Duration `json:"start_ns"`
	Took  time.Duration `json:"took_ns"`
}

// Trace records how long the stages of a job took. The zero value is not usable: see NewTrace.
type Trace struct {
	begin time.Time
	mu    sync.Mutex
	spans []Span
}

// NewTrace starts the clock.
func NewTrace() *Trace { return &Trace{begin: time.Now()} }

// Begin is when the clock started.
func (t *Trace) Begin() time.Time { return t.begin }

// Stage starts a stage; calling the result ends it.
func (t *Trace) Stage(name string) (end func()) {
	start := time.Now()
	return func() { t.Add(name, start, time.Now()) }
}

// Add records a stage that somebody else timed.
func (t *Trace) Add(name string, start, end time.Time) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.spans = append(t.spans, Span{Name: name, Start: start.Sub(t.begin), Took: end.Sub(start)})
}

// Spans returns what has ended so far, in the order of ending.
func (t *Trace) Spans() []Span {
	t.mu.Lock()
	defer t.mu.Unlock()
	return append([]Span(nil), t.spans...)
}
