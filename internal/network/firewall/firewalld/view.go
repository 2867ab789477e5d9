package firewalld

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"taproom/internal/host"
)

// Seen is what View found.
type Seen struct {
	Absent    string   // why no firewalld has to do with our network namespace; "" when one has
	Installed bool     // it has our zone and policy
	Bridges   []string // that are in our zone
}

// View looks at firewalld and changes nothing. The error says that it could not be asked.
func View(ctx context.Context, k *host.Kernel, socket string) (Seen, error) {
	b := newBus(k, socket, 0)
	s, err := b.open(ctx)
	defer func() { _ = b.close() }() // nothing was changed
	switch {
	case errors.Is(err, errAbsent):
		return Seen{Absent: err.Error()}, nil
	case err != nil:
		return Seen{}, fmt.Errorf("ask the system bus for %s: %w", busName, err)
	}
	var seen Seen
	bound, err := s.bindings(ctx)
	if err == nil {
		seen.Installed, err = s.installed(ctx)
	}
	if err != nil {
		return Seen{}, fmt.Errorf("ask firewalld: %w", err)
	}
	for link, zone := range bound {
		if zone == Zone {
			seen.Bridges = append(seen.Bridges, link)
		}
	}
	slices.Sort(seen.Bridges)
	return seen, nil
}
