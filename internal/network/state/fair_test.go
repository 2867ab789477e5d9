package state

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"taproom/internal/host/hosttest"
	"taproom/internal/host/probe"
)

// Fair queues inside the limits of NICs, networks and floors are there once, stay while limits change, take the place of plain ones, and the
// printed commands make the same.
func TestFairQueue_Converges(t *testing.T) {
	t.Parallel()
	hosttest.Needs(t, probe.FairQueue(), hosttest.Lift{Module: "sch_fq_codel"})
	applied, typed := hosttest.NewNS(t), hosttest.NewNS(t)
	e := newEnv(applied)
	want := config(2).Merge(config(3))
	if err := settle(e, want); err != nil { // plain queues
		t.Fatal(err)
	}
	e.FairQueues = true
	if err := settle(e, want); err != nil {
		t.Fatal(err)
	}
	empty(t, e)
	scope := allVirbr
	scope.Sysctls = want.Scope().Sysctls
	p, err := set(e, scope, want)
	if err != nil {
		t.Fatal(err)
	}
	typed.Shell(p.String())
	queues := func(ns *hosttest.NS) string {
		return microseconds.ReplaceAllString(ns.Shell(`tc qdisc show | sed 's/qdisc fq_codel [0-9a-f]*:/qdisc fq_codel/' | grep 'fq_codel\|tbf\|htb' | sort`), "")
	}
	if d := cmp.Diff(queues(applied), queues(typed)); d != "" {
		t.Errorf("applied (-) and typed (+) differ:\n%s\nthe plan was:\n%s", d, p)
	}
	if err := settle(e, want); err != nil {
		t.Fatal(err)
	}
	empty(t, e)
	again, err := set(e, scope, State{})
	if err != nil || len(again) > 0 {
		t.Errorf("%v, and nothing should be left to do:\n%s", err, again)
	}
	typedAway(t, typed)
}

// typedAway removes the links of typed commands.
func typedAway(t *testing.T, ns *hosttest.NS) {
	t.Helper()
	ns.Shell(`for i in $(ip -o link show | cut -d: -f2 | cut -d@ -f1 | grep 'virbr\|vnet\|shape'); do ip link delete $i; done`)
}
