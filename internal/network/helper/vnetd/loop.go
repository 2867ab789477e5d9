package vnetd

import (
	"sync"
	"time"
)

// loop is a network's goroutine.
type loop struct {
	stop chan struct{} // closed to end it; nil: it does not run
	over sync.WaitGroup
}

// start runs it, for a network that is served from frames.
func (l *loop) start(n *network) {
	if n.link == nil {
		return
	}
	stop := make(chan struct{})
	l.stop = stop
	l.over.Go(func() { n.serve(stop) })
}

// halt ends it and waits. The files stay open.
func (l *loop) halt(n *network) {
	if l.stop == nil {
		return
	}
	n.mu.Lock()
	close(l.stop)
	_ = n.link.file.SetReadDeadline(time.Unix(1, 0))
	n.mu.Unlock()
	l.over.Wait()
	l.stop = nil
}
