package engine

import (
	"testing"

	"taproom/internal/api/server"
	"taproom/internal/spec"
)

func TestTheFirstToNameAStateGivesItsReason(t *testing.T) {
	t.Parallel()
	d := newDomain(spec.NewUUID(), "d", &defined{})
	if v, changed := d.setState(nil, server.DomainRunning, server.RunningBooted); !changed || v.ref.Reason != server.RunningBooted {
		t.Errorf("booted: %+v, news %v", v.ref, changed)
	}
	before := d.view()
	if v, changed := d.setState(nil, server.DomainRunning, server.RunningUnpaused); changed || v.ref.Reason != server.RunningBooted {
		t.Errorf("QEMU said that it runs: %+v, news %v", v.ref, changed)
	}
	if v, changed := d.setState(nil, server.DomainPaused, server.PausedUser); !changed || v.ref.Reason != server.PausedUser {
		t.Errorf("paused: %+v, news %v", v.ref, changed)
	}
	if v, changed := d.setState(&running{}, server.DomainCrashed, server.CrashedPanicked); changed || v.ref.State != server.DomainPaused {
		t.Errorf("a run that has ended said what state the domain is in: %+v, news %v", v.ref, changed)
	}
	if before.ref.State != server.DomainRunning {
		t.Error("a view that somebody held has changed")
	}
}
