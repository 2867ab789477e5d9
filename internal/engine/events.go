package engine

import (
	"sync"

	"taproom/internal/api/server"
)

// hub hands events to those who subscribed, in the order they are published.
type hub struct {
	mu    sync.Mutex
	next  int
	sinks map[int]func(server.Event)
}

func newHub() *hub { return &hub{sinks: map[int]func(server.Event){}} }

// Subscribe implements server.Events.
func (h *hub) Subscribe(sink func(server.Event)) (cancel func()) {
	h.mu.Lock()
	defer h.mu.Unlock()
	id := h.next
	h.next++
	h.sinks[id] = sink
	return func() {
		h.mu.Lock()
		defer h.mu.Unlock()
		delete(h.sinks, id)
	}
}

func (h *hub) publish(e server.Event) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, sink := range h.sinks {
		sink(e)
	}
}
