package pool

import (
	"context"
	"sync"

	"taproom/internal/appliance/launch"
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
	a, err := l.Launch(ctx)
	if err != nil {
		return nil, err
	}
	return clone{a}, nil
}

func (m *maker) open(ctx context.Context) (*launch.Launcher, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.launcher == nil {
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
