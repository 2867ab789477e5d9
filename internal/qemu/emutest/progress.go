package emutest

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"sync"
	"time"
)

// Progress is the last observed activity of a machine: it wrote to its console, or QEMU or the daemon sent an event of it. The zero
// Progress is a machine that has done nothing. It may be used by several goroutines and waits.
//
//	var p emutest.Progress
//	ctx, cancel := emutest.Watch(t.Context(), 1, &p)
//	defer cancel()
//	for {
//		select {
//		case e := <-monitor.Events():
//			p.Event("QMP event " + e.Name)
//		case <-ctx.Done():
//			t.Fatalf("wait for the guest's end: %v", context.Cause(ctx))
//		}
//	}
type Progress struct {
	mu    sync.Mutex
	count int64
	last  string
	line  []byte // the console's last line, as far as it was written
}

// longestLine is how many bytes of the console's last line an error shows.
const longestLine = 200

// Event notes an event, by its name.
func (p *Progress) Event(what string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.count++
	p.last = what
}

// Write notes output of the machine to its console. It never fails.
func (p *Progress) Write(b []byte) (int, error) {
	if len(b) == 0 {
		return 0, nil
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.count += int64(len(b))
	p.line = append(p.line, b...)
	if end := bytes.LastIndexByte(bytes.TrimRight(p.line, "\r\n"), '\n'); end >= 0 {
		p.line = bytes.Clone(p.line[end+1:])
	}
	p.line = p.line[max(0, len(p.line)-longestLine):]
	p.last = fmt.Sprintf("the console's line %q", bytes.TrimSpace(p.line))
	return len(b), nil
}

// Follow notes the bytes that are appended to a file to which a machine's console goes, until the context ends. There may be no file yet.
func (p *Progress) Follow(ctx context.Context, path string) {
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	var console *os.File
	for {
		if console == nil {
			if f, err := os.Open(path); err == nil {
				console = f
				defer f.Close()
			}
		}
		if console != nil {
			_, _ = io.Copy(p, console) // it goes on where the last copy ended
		}
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

// seen returns a number that grows with every byte and event, and the last of them. A nil Progress has none.
func (p *Progress) seen() (count int64, last string) {
	if p == nil {
		return 0, ""
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.last == "" {
		return 0, "nothing at all"
	}
	return p.count, p.last
}
