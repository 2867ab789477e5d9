package engine

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"taproom/internal/api/own"
	"taproom/internal/api/server"
	"taproom/internal/network/helper"
	"taproom/internal/network/lease"
	"taproom/internal/spec"
)

func TestRequestsThatMeetAHelperAtItsEndAreMadeAgain(t *testing.T) {
	t.Parallel()
	lost := fmt.Errorf("leases: %w", helper.ErrLost)
	refused := &helper.RefusedError{Op: helper.OpLeases, Reason: "no such network"}
	there := func(s *helperService) { s.there.happens() }
	served := func(s *helperService) { s.empty = false; s.served.happens() }
	for name, c := range map[string]struct {
		empty   bool
		first   error
		happens func(*helperService) // a second after the first answer
		ask     bool
		want    error
		after   time.Duration
	}{
		"nothing is wrong":                 {ask: true},
		"another reason":                   {first: refused, ask: true, want: refused},
		"changing waits for a helper":      {first: lost, happens: there, after: time.Second},
		"asking waits for more":            {first: lost, happens: there, ask: true, want: lost, after: replacedWithin},
		"asking waits until all is served": {first: lost, happens: served, ask: true, after: time.Second},
		"asking an empty one":              {empty: true, first: refused, happens: served, ask: true, after: time.Second},
		"changing an empty one":            {empty: true, first: refused, want: refused},
		"there will be none":               {first: lost, want: lost, after: replacedWithin},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				s := &helperService{empty: c.empty}
				answers := []error{c.first, nil}
				began := time.Now()
				request := func() error {
					answer := answers[0]
					answers = answers[1:]
					if c.happens != nil && len(answers) == 1 {
						time.AfterFunc(time.Second, func() {
							s.mu.Lock()
							defer s.mu.Unlock()
							c.happens(s)
						})
					}
					return answer
				}
				how := s.change
				if c.ask {
					how = s.ask
				}
				if err := how(t.Context(), request); !errors.Is(err, c.want) || time.Since(began) != c.after {
					t.Errorf("%v after %v, want %v after %v", err, time.Since(began), c.want, c.after)
				}
			})
		})
	}
}

// withNetwork returns an engine with an active network, and what it publishes.
func withNetwork(t *testing.T) (*Engine, *network, *[]server.Event) {
	t.Helper()
	e := small(t)
	e.troubles = newTroubles()
	doc, err := spec.ParseNetwork([]byte("<network><name>lab</name><bridge name='virbr7'/><ip address='192.168.160.1' prefix='24'/><ip family='ipv6' address='fd00::1' prefix='64'/></network>"))
	if err != nil {
		t.Fatal(err)
	}
	n := newNetwork(spec.UUID{7}, "lab", nil)
	n.update(func(v *netView) { v.live, v.ref.Active, v.ref.Bridge = doc, true, "virbr7" })
	e.networks.add(n)
	var told []server.Event
	e.Subscribe(func(ev server.Event) { told = append(told, ev) })
	return e, n, &told
}

func TestWhatTheHelperTellsBecomesEventsAndProblems(t *testing.T) {
	t.Parallel()
	e, n, told := withNetwork(t)
	change := func(of spec.UUID, ip string) helper.Event {
		var r lease.Record
		if err := r.IP.UnmarshalText([]byte(ip)); err != nil {
			t.Fatal(err)
		}
		r.ClientID, r.IAID, r.Expiry = "00:01", 9, 1893456000
		return helper.Event{Network: of, Change: &helper.Change{Kind: lease.Renewed, Lease: r}}
	}
	for _, ev := range []helper.Event{
		change(n.uuid, "192.168.160.10"),
		change(n.uuid, "fd00::10"),
		change(spec.UUID{8}, "192.168.160.11"),
		{Missed: true},
		{Network: n.uuid, Failed: "no space left"},
		{Network: n.uuid, Failed: "no space left"},
		{Failed: "of nobody's"},
	} {
		e.helperEvent(ev)
	}
	ref := n.view().ref
	want := []server.Event{
		server.LeaseChange{Network: ref, Event: own.LeaseEvent{Kind: own.LeaseRenewed, Lease: &own.Lease{
			Network: "lab", Bridge: "virbr7", Address: "192.168.160.10", Prefix: 24, ClientID: "00:01", IAID: 9, Expiry: 1893456000,
		}}},
		server.LeaseChange{Network: ref, Event: own.LeaseEvent{Kind: own.LeaseRenewed, Lease: &own.Lease{
			Network: "lab", Bridge: "virbr7", Address: "fd00::10", Prefix: 64, DUID: "00:01", IAID: 9, Expiry: 1893456000,
		}}},
		server.LeaseChange{Event: own.LeaseEvent{Kind: own.LeasesMissed}},
	}
	if d := cmp.Diff(want, *told); d != "" {
		t.Error(d)
	}
	if d := cmp.Diff([]string{"network 'lab': no space left", "the network helper: of nobody's"}, e.troubles.all()); d != "" {
		t.Error(d)
	}
	e.troubles.forget(n.uuid)
	e.helperFailed(errors.New("no such program"))
	got := strings.Join(e.troubles.all(), "\n")
	if want := "the network helper cannot do its work, so guests get no addresses and names: no such program\nthe network helper: of nobody's"; got != want {
		t.Errorf("problems are\n%s", got)
	}
}

func TestGuestsDoNotFillTheListOfProblems(t *testing.T) {
	t.Parallel()
	l := newTroubles()
	for i := range 100 {
		if added := l.add(spec.UUID{1}, fmt.Sprintf("trouble %d", i)); added != (i < maxTroubles) {
			t.Errorf("trouble %d: %v", i, added)
		}
	}
	l.solved(spec.UUID{1}, "trouble 1")
	if d := cmp.Diff(maxTroubles-1, len(l.all())); d != "" {
		t.Error(d)
	}
}

// A look that finds what the one before found tells nothing new, and nobody sees the problems gone meanwhile.
func TestProblemsInThePlaceOfOthers(t *testing.T) {
	t.Parallel()
	l, id := newTroubles(), spec.UUID{1}
	l.add(id, "of another kind")
	for _, c := range []struct{ what, fresh, all []string }{
		{[]string{"a 1", "a 2"}, []string{"a 1", "a 2"}, []string{"a 1", "a 2", "of another kind"}},
		{[]string{"a 2", "a 1"}, nil, []string{"a 1", "a 2", "of another kind"}},
		{[]string{"a 3", "a 2"}, []string{"a 3"}, []string{"a 2", "a 3", "of another kind"}},
		{nil, nil, []string{"of another kind"}},
	} {
		fresh := l.instead(id, "a ", c.what...)
		if d := cmp.Diff(c.fresh, fresh) + cmp.Diff(c.all, l.all()); d != "" {
			t.Errorf("%q: %s", c.what, d)
		}
	}
}

// What cannot be served again is a problem, and is tried again until it is served or nobody wants it any more.
func TestWhatCannotBeServedAgainIsTriedAgain(t *testing.T) {
	t.Parallel()
	e, n, _ := withNetwork(t)
	j, err := n.slot.Begin(t.Context(), "change it") // which goes on
	if err != nil {
		t.Fatal(err)
	}
	synctest.Test(t, func(t *testing.T) {
		s := &helperService{}
		asked, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		e.setAgain(asked, s, func(uuid string) string { return uuid }, "is not served")
		s.beside.Wait() // whoever closes it ends that
		if got := e.troubles.all(); got != nil {
			t.Errorf("of a helper that was closed there is %q", got)
		}
		j.End()
		e.setAgain(t.Context(), s, func(uuid string) string { return uuid }, "is not served") // since it has no UUID
		if got := strings.Join(e.troubles.all(), ""); !strings.HasPrefix(got, "network 'lab' is not served: ") {
			t.Errorf("problems are %q", got)
		}
		<-time.After(10 * againWithin) // of the test's own clock
		n.update(func(v *netView) { v.live = nil })
		s.beside.Wait()
		if got := e.troubles.all(); len(got) > 0 {
			t.Errorf("problems are %q", got)
		}
	})
}
