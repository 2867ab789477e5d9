package crashtest

import (
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"taproom/internal/spec"
)

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

// links compares the bridges, taps and macvtaps of the namespace with what is active: of a guest's, how many there are.
func (w *world) links(seen map[string]sight) []string {
	links, err := w.k.Links()
	if err != nil {
		return []string{err.Error()}
	}
	var have, want []string
	taps := numbered{}
	for _, l := range links {
		switch {
		case l.Kind == "bridge" && l.Group != 0: // those of group 0 are somebody else's
			have = append(have, l.Name+" "+l.Alias)
		case l.Kind == "tun" && !strings.HasPrefix(l.Name, "ovs"): // those are the own ones of Open vSwitch
			have = append(have, taps.next("tap", l.Alias))
		case l.Kind == "macvtap":
			have = append(have, taps.next(l.Kind, l.Alias))
		}
	}
	for _, n := range w.active(seen, "network") {
		want = append(want, n.bridge()+" taproom:"+n.uuid.String())
	}
	for _, d := range w.active(seen, "domain") {
		want = append(want, seen[d.name].nics...)
	}
	return compare("link", have, want)
}

// nicLinks are the links that the NICs of a running guest's document have.
func nicLinks(o *object, doc *spec.Domain) []string {
	var out []string
	taps := numbered{}
	for _, n := range doc.Devices.Interfaces {
		if kind := map[string]string{"network": "tap", "bridge": "tap", "direct": "macvtap"}[n.Type]; kind != "" {
			out = append(out, taps.next(kind, "taproom:"+o.uuid.String()))
		}
	}
	return out
}

// numbered tells things of one kind and owner apart.
type numbered map[string]int

func (n numbered) next(kind, owner string) string {
	n[kind+owner]++
	return fmt.Sprintf("%s %d of %s", kind, n[kind+owner], owner)
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
		wrong = append(wrong, fmt.Sprintf("directory of the network helper with %d active networks: %v", len(w.active(seen, "network")), err))
	}
	_ = filepath.WalkDir(w.Root, func(path string, _ fs.DirEntry, err error) error {
		if path == p.GuestNames() || path == p.Zones() {
			return fs.SkipDir // the daemon writes there when it comes to it, and sweeps when it starts
		}
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
	if w.User() != nil {
		return w.userProcesses(seen)
	}
	slice, ok := w.Slice()
	if !ok {
		return []string{"the daemon serves and has no cgroup"}
	}
	want := map[string]int{} // processes in each
	beside := map[string]int{}
	for _, d := range w.active(seen, "domain") {
		want["guest-"+d.uuid.String()] = seen[d.name].pid
		beside["guest-"+d.uuid.String()] = d.beside
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
		if pid, ok := want[e.Name()]; ok && (len(pids) != 1+beside[e.Name()] || pid != 0 && !slices.Contains(pids, pid)) {
			wrong = append(wrong, fmt.Sprintf("cgroup %s holds processes %v, and should hold %d, process %d among them", e.Name(), pids, 1+beside[e.Name()], pid))
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
	if out := w.OwnRules(); out != "" {
		return []string{"rules without a network: " + out}
	}
	return nil
}
