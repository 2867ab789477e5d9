package pool

import (
	"context"
	"fmt"
	"sync"
	"time"

	"taproom/internal/appliance/launch"
)

// How long a clone, and the boot of the template, may take. Idle hosts need some ten milliseconds and some seconds. What hangs
// must not keep those who wait for it, nor the template's lock, for ever.
const (
	cloneWithin    = 2 * time.Minute
	templateWithin = 10 * time.Minute
)

// maker launches clones. What they share is made ready by the first launch, so that a failure of that is told to who asks.
type maker struct {
	spec launch.Spec

	mu       sync.Mutex
	launcher *launch.Launcher
}

func (m *maker) make(ctx context.Context) (Clone, error) {
	l, err := m.open(ctx)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeoutCause(ctx, cloneWithin, fmt.Errorf("no clone was ready within %v", cloneWithin))
	defer cancel()
	a, err := l.Launch(ctx)
	if err != nil {
		return nil, err
	}
	return pack(a)
}

func (m *maker) open(ctx context.Context) (*launch.Launcher, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.launcher == nil {
		ctx, cancel := context.WithTimeoutCause(ctx, templateWithin, fmt.Errorf("no template was ready within %v", templateWithin))
		defer cancel()
		l, err := launch.Open(ctx, m.spec)
		if err != nil {
			return nil, err
		}
		m.launcher = l
	}
	return m.launcher, nil
}

func (m *maker) close() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.launcher == nil {
		return nil
	}
	return m.launcher.Close()
}
