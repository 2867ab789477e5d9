package engine

import (
	"log/slog"
	"slices"
	"sync"

	"taproom/internal/engine/store"
)

// problems are what the administrator should know and nobody asked for; `taproom ls` shows them.
type problems struct {
	mu   sync.Mutex
	list []string
}

func (p *problems) add(log *slog.Logger, what string) {
	log.Error(what)
	p.mu.Lock()
	defer p.mu.Unlock()
	if !slices.Contains(p.list, what) {
		p.list = append(p.list, what)
	}
}

// solved takes back what was added.
func (p *problems) solved(what string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.list = slices.DeleteFunc(slices.Clone(p.list), func(s string) bool { return s == what })
}

func (p *problems) damaged(log *slog.Logger, files []*store.Damaged, then string) {
	for _, f := range files {
		p.add(log, f.Error()+then)
	}
}

func (p *problems) all() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(p.list)
}
