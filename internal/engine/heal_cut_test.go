package engine

import (
	"context"
	"errors"
	"testing"

	"taproom/internal/network/heal"
)

// A QEMU that did not answer when it was told that a tap is lost is told again.
func TestAQEMUThatDoesNotAnswerIsToldAgainThatATapIsLost(t *testing.T) {
	t.Parallel()
	a := newAgentDouble(t, nil)
	a.e.ctx = t.Context()
	asked := a.monitored(t, nil)
	<-asked // qmp_capabilities
	p := port{Name: "vnet0"}
	a.run.setLost(p.Name, true)
	a.e.troubled(heal.Thing{Kind: heal.Port, Owner: a.d.uuid.String(), Name: p.Name}, "it does not answer")
	silent, cancel := context.WithCancel(t.Context())
	cancel()
	err := a.e.cut(silent, a.d, a.run, p, "net0")
	if !errors.Is(err, context.Canceled) {
		t.Fatalf("told a QEMU that does not answer: %v", err)
	}
	a.e.work.Wait()
	told := 0
	for len(asked) > 0 {
		if <-asked == "netdev_del" {
			told++
		}
	}
	if told == 0 || len(a.e.healer.troubles) > 0 {
		t.Errorf("it was told %d times, and there are problems %v", told, a.e.healer.troubles)
	}
}
