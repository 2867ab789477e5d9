package server

import (
	"context"

	"taproom/internal/api/own"
)

// Forwards is ports of the host that lead to guests.
type Forwards interface {
	// Forwards are those of one network, or with "" of all.
	Forwards(ctx context.Context, network string) ([]own.Forward, error)
}
