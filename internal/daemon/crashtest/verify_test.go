package crashtest

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"taproom/internal/api/client"
	"taproom/internal/api/own"
	"taproom/internal/api/remote"
	"taproom/internal/api/virterr"
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
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	events, unsubscribe, err := c.Lifecycle(ctx)
	if err != nil {
		return broken(err)
	}
	deadline := time.After(10 * time.Second)
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
		case <-deadline:
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
	pid int
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
			s.paused, s.pid = truthOf(state.State == statePaused), pid
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

// active are the listed objects of a kind that are active.
func (w *world) active(seen map[string]sight, kind string) []*object {
	var out []*object
	for _, o := range w.objects {
		if o.kind == kind && seen[o.name].active == yes {
			out = append(out, o)
		}
	}
	return out
}

// compare says what there is and should not be, and the other way round.
func compare(what string, have, want []string) []string {
	var wrong []string
	for _, h := range have {
		if !slices.Contains(want, h) {
			wrong = append(wrong, what+" that nobody owns: "+h)
		}
	}
	for _, m := range want {
		if !slices.Contains(have, m) {
			wrong = append(wrong, what+" that is missing: "+m)
		}
	}
	return wrong
}

// links compares the bridges and taps of the namespace with what is active.
func (w *world) links(seen map[string]sight) []string {
	links, err := w.k.Links()
	if err != nil {
		return []string{err.Error()}
	}
	var have, want []string
	for _, l := range links {
		switch l.Kind {
		case "bridge":
			have = append(have, l.Name+" "+l.Alias)
		case "tun":
			have = append(have, "tap "+l.Alias)
		}
	}
	for _, n := range w.active(seen, "network") {
		want = append(want, n.bridge()+" taproom:"+n.uuid.String())
	}
	for _, d := range w.active(seen, "domain") {
		if strings.Contains(d.xml, "<interface") {
			want = append(want, "tap taproom:"+d.uuid.String())
		}
	}
	return compare("link", have, want)
}

// files compares what lies in the daemon's directories with what is listed.
func (w *world) files(seen map[string]sight) []string {
	p := w.Paths()
	want := map[string][]string{}
	var networkLeases []string
	for _, o := range w.objects {
		s, state := seen[o.name], o.uuid.String()+".state"
		places := map[string][3]string{"domain": {p.Domains(), p.Records(), p.Guests()}, "network": {p.Networks(), p.ActiveNetworks(), ""}}[o.kind]
		if s.defined == yes {
			want[places[0]] = append(want[places[0]], state)
		}
		if s.active == yes {
			want[places[1]] = append(want[places[1]], state)
			want[places[2]] = append(want[places[2]], o.uuid.String())
		}
		if o.kind == "network" && (s.defined == yes || s.active == yes) {
			networkLeases = append(networkLeases, o.uuid.String()+".leases")
		}
	}
	var wrong []string
	for _, dir := range []string{p.Domains(), p.Networks(), p.Records(), p.ActiveNetworks(), p.Guests()} {
		wrong = append(wrong, compare("file in "+dir, names(dir), want[dir])...)
	}
	for _, name := range names(p.Leases()) {
		if !slices.Contains(networkLeases, name) { // a network that never served has none
			wrong = append(wrong, "leases that nobody owns: "+name)
		}
	}
	if _, err := os.Stat(p.Helper()); (err == nil) != (len(w.active(seen, "network")) > 0) {
		wrong = append(wrong, fmt.Sprintf("directory of the DHCP helper with %d active networks: %v", len(w.active(seen, "network")), err))
	}
	_ = filepath.WalkDir(w.Root, func(path string, _ fs.DirEntry, err error) error {
		if err == nil && strings.Contains(filepath.Base(path), "taproom-tmp") {
			wrong = append(wrong, "half-written file "+path)
		}
		return nil
	})
	return wrong
}

func names(dir string) []string {
	entries, _ := os.ReadDir(dir) // one that is not there is empty
	var out []string
	for _, e := range entries {
		out = append(out, e.Name())
	}
	return out
}

// cgroups compares the cgroups and the processes in them with what is active, and looks for processes outside.
func (w *world) cgroups(seen map[string]sight) []string {
	slice, ok := w.Slice()
	if !ok {
		return []string{"the daemon serves and has no cgroup"}
	}
	want := map[string]int{} // processes in each
	for _, d := range w.active(seen, "domain") {
		want["guest-"+d.uuid.String()] = seen[d.name].pid
	}
	if len(w.active(seen, "network")) > 0 {
		want["vnet"] = 0
	}
	var have []string
	var wrong []string
	inside := map[int]bool{}
	entries, _ := os.ReadDir(slice)
	for _, e := range entries {
		if !e.IsDir() {
			continue
		}
		have = append(have, e.Name())
		pids, err := w.k.CgroupProcs(filepath.Join(slice, e.Name()))
		if err != nil {
			wrong = append(wrong, err.Error())
		}
		for _, pid := range pids {
			inside[pid] = true
		}
		if pid, ok := want[e.Name()]; ok && (len(pids) != 1 || pid != 0 && pids[0] != pid) {
			wrong = append(wrong, fmt.Sprintf("cgroup %s holds processes %v, and should hold one (%d)", e.Name(), pids, pid))
		}
	}
	wrong = append(wrong, compare("cgroup", have, slices.Sorted(maps.Keys(want)))...)
	for _, pid := range w.Processes() {
		if !inside[pid] {
			wrong = append(wrong, fmt.Sprintf("process %d is in no cgroup of ours", pid))
		}
	}
	return wrong
}

// rules looks for rules without a network. What is in them while there is one, the plan compares.
func (w *world) rules(seen map[string]sight) []string {
	if len(w.active(seen, "network")) > 0 {
		return nil
	}
	if out := strings.TrimSpace(w.NS.Run("nft", "list", "ruleset")); out != "" {
		return []string{"rules without a network: " + out}
	}
	return nil
}

// again makes everything run, and then removes everything: whatever happened before, nothing is in the way and nothing
// stays.
func (w *world) again(c *client.Client) error {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	var docs []own.Document
	for _, o := range w.objects {
		docs = append(docs, own.Document{Name: o.name, XML: o.xml})
		o.defined, o.active, o.host, o.hostLive = yes, yes, no, no
		if o.pid == 0 {
			o.paused = no
		}
	}
	if err := apply(ctx, c, own.ApplyRequest{Documents: docs}); err != nil {
		return fmt.Errorf("make everything run: %w", err)
	}
	if err := w.verify(c); err != nil {
		return fmt.Errorf("everything was made to run: %w", err)
	}
	if err := apply(ctx, c, own.ApplyRequest{Documents: docs, Remove: true}); err != nil {
		return fmt.Errorf("remove everything: %w", err)
	}
	for _, o := range w.objects {
		o.belief, o.pid = belief{}, 0
	}
	if err := w.verify(c); err != nil {
		return fmt.Errorf("everything was removed: %w", err)
	}
	if left := w.Leftovers(); len(left) > 0 {
		return fmt.Errorf("everything was removed, and this is left:\n  %s", strings.Join(left, "\n  "))
	}
	return nil
}
