package daemon

import (
	"encoding/json"
	"fmt"
	"net"
	"runtime"

	"taproom/internal/api/own"
	"taproom/internal/host"
)

// counter returns a counter where the daemon is to count, else nil.
func (o Options) counter() *host.Counter {
	if o.Counters == "" {
		return nil
	}
	return &host.Counter{}
}

// serveCounters serves the counters of this process on a socket, for taproom bench counters, until stop is called. Only the
// daemon's user may connect. Each connection gets an own.Counters as JSON and is closed. A nil counter is not served.
func serveCounters(k *host.Kernel, path string, counter *host.Counter) (stop func(), err error) {
	if counter == nil {
		return func() {}, nil
	}
	f, err := k.ListenUnix(path, 0o600)
	if err != nil {
		return nil, fmt.Errorf("serve counters: %w", err)
	}
	defer f.Close()
	l, err := net.FileListener(f)
	if err != nil {
		return nil, fmt.Errorf("serve counters on %s: %w", path, err)
	}
	stopped := make(chan struct{})
	go func() {
		defer close(stopped)
		answerCounters(l, counter)
	}()
	return func() {
		_ = l.Close()
		<-stopped
		_ = k.Remove(path) // the next daemon replaces a socket that stays
	}, nil
}

// answerCounters answers connections in turn until the listener is closed. An answer fits the buffer of a socket, so that no client
// delays the next.
func answerCounters(l net.Listener, counter *host.Counter) {
	for {
		conn, err := l.Accept()
		if err != nil {
			return
		}
		_ = json.NewEncoder(conn).Encode(readCounters(counter)) // a client that hung up needs no answer
		_ = conn.Close()
	}
}

// readCounters reads the memory's counter last. ReadMemStats stops all goroutines and counts every object; runtime/metrics
// counts small objects when a processor needs another span of them.
func readCounters(counter *host.Counter) own.Counters {
	n := counter.Counts()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return own.Counters{Calls: n.Calls, Netlink: n.Netlink, Allocated: m.TotalAlloc}
}
