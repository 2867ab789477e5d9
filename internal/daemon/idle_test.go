package daemon

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"
)

func TestADaemonThatNobodyNeedsEndsAfterItsTime(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		changed := make(chan struct{}, 1)
		needed := true
		began := time.Now()
		time.AfterFunc(25*time.Second, func() { needed = false; nudge(changed) })
		time.AfterFunc(31*time.Second, func() { nudge(changed); nudge(changed) }) // somebody came and went
		if err := idle(t.Context(), 10*time.Second, changed, func() bool { return needed }); err != nil {
			t.Fatal(err)
		}
		if took := time.Since(began); took != 41*time.Second {
			t.Errorf("it ended after %v, want 41s: ten after the last client went", took)
		}
	})
}

func TestADaemonThatIsToldToEndDoesNotWaitToBeIdle(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := idle(ctx, time.Hour, nil, func() bool { return false }); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v", err)
	}
}
