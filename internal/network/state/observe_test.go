package state

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"taproom/internal/host"
)

// silentServices is a process that never answers.
type silentServices struct{ fakeServices }

func (*silentServices) Observe(ctx context.Context, _ ...string) (map[string]Service, error) {
	<-ctx.Done()
	return nil, ctx.Err()
}

// unreadable is a firewall that cannot be looked at.
type unreadable struct{ fakeFirewall }

func (*unreadable) Observe(context.Context, ...Element) ([]Element, error) { return nil, errFake }

// A look that failed is told at once, whoever else was asked.
func TestALookThatFailedWaitsForNobody(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute) // of the test's own clock
		defer cancel()
		e := &Env{Kernel: host.New(host.Options{}), Firewall: &unreadable{}, Services: &silentServices{}}
		_, err := Observe(ctx, e, Scope{AllElements: true, Networks: []string{"lab"}})
		if !errors.Is(err, errFake) || ctx.Err() != nil {
			t.Errorf("%v, and the time for it: %v", err, ctx.Err())
		}
	})
}
