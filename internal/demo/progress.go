package demo

import (
	"fmt"
	"io"
	"sync"
	"time"
)

// Progress shows what is being done while it is done: on a terminal in one line that changes, elsewhere a line a step.
type Progress struct {
	w        io.Writer
	terminal bool
	mu       sync.Mutex
	step     string
	began    time.Time
}

// NewProgress returns a Progress that writes to w.
func NewProgress(w io.Writer, terminal bool) *Progress { return &Progress{w: w, terminal: terminal} }

// Step ends the step before and begins another.
func (p *Progress) Step(format string, args ...any) {
	p.Done("")
	p.mu.Lock()
	defer p.mu.Unlock()
	p.step, p.began = fmt.Sprintf(format, args...), time.Now()
	if p.terminal {
		fmt.Fprintf(p.w, "… %s", p.step)
	}
}

// Note changes what stands behind the step that is under way, on terminals only.
func (p *Progress) Note(note string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.terminal && p.step != "" {
		fmt.Fprintf(p.w, "\r\x1b[2K… %s: %s", p.step, note)
	}
}

// Done ends the step under way with what came of it.
func (p *Progress) Done(result string) { p.end("✓", result) }

// Fail ends the step under way without success.
func (p *Progress) Fail() { p.end("✗", "") }

func (p *Progress) end(mark, result string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.step == "" {
		return
	}
	if p.terminal {
		fmt.Fprint(p.w, "\r\x1b[2K")
	}
	line := p.step
	if result != "" {
		line += ": " + result
	}
	fmt.Fprintf(p.w, "%s %-72s %6.1f s\n", mark, line, time.Since(p.began).Seconds())
	p.step = ""
}
