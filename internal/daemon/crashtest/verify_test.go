package crashtest

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"taproom/internal/api/client"
	"taproom/internal/api/own"
	"taproom/internal/api/remote"
	"taproom/internal/api/virterr"
	"taproom/internal/qemu/emutest"
)

// Flags of libvirt's lists, and two states of domains.
const (
	listDomainsActive        = 1
	listNetworksActive       = 2
	listPersistent           = 4
	statePaused        int32 = 3
)

// verify holds a daemon that serves against what its clients know, and the machine against what the daemon lists. What
// is still under way (a QEMU that was asked to end) may finish first; the daemon tells by an event.
func (w *world) verify(c *client.Client) error {
	ctx, cancel := emutest.Watch(context.Background(), 2, nil) // what is wrong after the first half is told
	defer cancel()
	events, unsubscribe, err := c.Lifecycle(ctx)
	if err != nil {
		return broken(err)
	}
	late, settled := emutest.Context(context.Background())
	defer settled()
	again := time.NewTicker(100 * time.Millisecond) // not all that settles is told: a record that was being written is one
	defer again.Stop()
	for {
		seen, wrong, err := w.look(ctx, c)
		if err != nil {
			return broken(err)
		}
		if len(wrong) == 0 {
			for _, o := range w.objects {
				o.belief, o.pid = seen[o.name].belief, seen[o.name].pid
			}
			return broken(unsubscribe(ctx))
		}
		select {
		case _, ok := <-events:
			if !ok {
				return errBroken
			}
		case <-again.C:
		case <-late.Done():
			return fmt.Errorf("it does not hold that all is as it should be:\n  %s\nthe daemon said:\n%s", strings.Join(wrong, "\n  "), w.Said())
		}
	}
}

// broken marks an error of the connection as one. What the daemon refused, or did not answer in time, is none.
func broken(err error) error {
	var refused *virterr.Error
	if err == nil || errors.As(err, &refused) || errors.Is(err, context.DeadlineExceeded) {
		return err
	}
	return fmt.Errorf("%w: %w", errBroken, err)
}

// sight is what is seen of an object.
type sight struct {
	belief
	pid  int
	nics []string // of a domain that is active, the links that its live document says there are
}

// look compares everything once. An error is one of the connection.
func (w *world) look(ctx context.Context, c *client.Client) (map[string]sight, []string, error) {
	seen, err := w.listed(ctx, c)
	if err != nil {
		return nil, nil, err
	}
	wrong := w.contradictions(seen)
	for _, part := range []func(map[string]sight) []string{w.links, w.files, w.cgroups, w.rules} {
		wrong = append(wrong, part(seen)...)
	}
	plan, err := c.Plan(ctx)
	if err != nil {
		return nil, nil, err
	}
	for _, s := range plan.Steps {
		wrong = append(wrong, "not converged: "+s.Object+": "+s.Command)
	}
	status, err := c.Status(ctx)
	if err != nil {
		return nil, nil, err
	}
	for _, p := range status.Problems {
		wrong = append(wrong, "the daemon has a problem: "+p)
	}
	return seen, wrong, nil
}

// listed is what the daemon says there is.
func (w *world) listed(ctx context.Context, c *client.Client) (map[string]sight, error) {
	seen := map[string]sight{}
	note := func(name string, change func(*sight)) {
		s := seen[name]
		change(&s)
		seen[name] = s
	}
	for flags, change := range map[uint32]func(*sight){
		listDomainsActive: func(s *sight) { s.active = yes },
		listPersistent:    func(s *sight) { s.defined = yes },
	} {
		domains, err := c.Domains(ctx, flags)
		if err != nil {
			return nil, err
		}
		for _, d := range domains {
			note(d.Name, change)
		}
	}
	for flags, change := range map[uint32]func(*sight){
		listNetworksActive: func(s *sight) { s.active = yes },
		listPersistent:     func(s *sight) { s.defined = yes },
	} {
		networks, err := c.Networks(ctx, flags)
		if err != nil {
			return nil, err
		}
		for _, n := range networks {
			note(n.Name, change)
		}
	}
	for _, o := range w.objects {
		s := seen[o.name]
		if o.kind == "domain" {
			if s.active == no {
				continue
			}
			state, err := c.DomainState(ctx, o.domain())
			if err != nil {
				return nil, err
			}
			pid, _ := w.qemuOf(o) // without one it is 0, which is noticed
			doc, err := document(c, o, 0)
			if err != nil {
				return nil, err
			}
			s.paused, s.pid, s.nics = truthOf(state.State == statePaused), pid, nicLinks(o, doc)
			seen[o.name] = s
			continue
		}
		if err := w.hosts(ctx, c, o, &s); err != nil {
			return nil, err
		}
		seen[o.name] = s
	}
	return seen, nil
}

// hosts looks for the additional DHCP host in the documents of a network.
func (w *world) hosts(ctx context.Context, c *client.Client, o *object, s *sight) error {
	const inactive = 1 // VIR_NETWORK_XML_INACTIVE
	for _, look := range []struct {
		in    truth
		flags uint32
		out   *truth
	}{{s.defined, inactive, &s.host}, {s.active, 0, &s.hostLive}} {
		if look.in == no {
			continue
		}
		var xml remote.String
		args := remote.NetworkFlags{Network: o.network(), Flags: look.flags}
		if err := c.Call(ctx, remote.ProgramRemote, remote.ProcNetworkGetXMLDesc, &args, &xml); err != nil {
			return err
		}
		*look.out = truthOf(strings.Contains(xml.S, "printer"))
	}
	return nil
}

// contradictions are between what was answered and what is listed.
func (w *world) contradictions(seen map[string]sight) []string {
	var wrong []string
	for _, o := range w.objects {
		s := seen[o.name]
		if !o.allows(s.belief) {
			wrong = append(wrong, fmt.Sprintf("%s %s is (%v), its client knows (%v)", o.kind, o.name, s.belief, o.belief))
		}
		if o.kind != "domain" || s.active != yes {
			continue
		}
		if s.pid == 0 {
			wrong = append(wrong, fmt.Sprintf("domain %s is listed as active and has no QEMU", o.name))
		}
		if o.pid != 0 && o.pid != s.pid {
			wrong = append(wrong, fmt.Sprintf("domain %s ran in process %d and is in %d", o.name, o.pid, s.pid))
		}
	}
	return wrong
}

// again makes everything run, and then removes everything: whatever happened before, nothing is in the way and nothing
// stays.
func (w *world) again(c *client.Client) error {
	for _, o := range w.objects {
		o.defined, o.active, o.host, o.hostLive = yes, yes, no, no
		if o.pid == 0 {
			o.paused = no
		}
	}
	if err := w.applyAll(c, false); err != nil {
		return fmt.Errorf("make everything run: %w", err)
	}
	return w.away(c)
}

// away removes everything.
func (w *world) away(c *client.Client) error {
	for _, o := range w.objects {
		o.belief, o.pid = belief{}, 0
	}
	if err := w.applyAll(c, true); err != nil {
		return fmt.Errorf("remove everything: %w", err)
	}
	if left := w.Leftovers(); len(left) > 0 {
		return fmt.Errorf("everything was removed, and this is left:\n  %s", strings.Join(left, "\n  "))
	}
	return nil
}

// applyAll applies every document, or takes it back, and checks what comes of it.
func (w *world) applyAll(c *client.Client, remove bool) error {
	ctx, cancel := emutest.Context(context.Background())
	defer cancel()
	var docs []own.Document
	for _, o := range w.objects {
		docs = append(docs, own.Document{Name: o.name, XML: o.xml})
	}
	if err := apply(ctx, c, own.ApplyRequest{Documents: docs, Remove: remove}); err != nil {
		return err
	}
	return w.verify(c)
}
