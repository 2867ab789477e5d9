package state

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Diff plans what leads from what was observed to what is desired. It touches nothing; the Env says whose the links are
// and how the firewall writes its commands. Where a name is somebody else's the error is an ErrForeign, and there is no
// plan.
//
// The order: what goes is no longer served, then of the firewall, then removed; what comes is made, then let through the
// firewall, then gets its ports, which join their switches, and is served last. When nothing is removed that a rule names,
// all changes of the firewall are one transaction.
func Diff(e *Env, observed Observed, desired State) (Plan, error) {
	return newDiffer(e, observed, desired).plan()
}

// DiffRest is Diff; links that guests hold and that somebody marked as his own are left as they are, and returned.
func DiffRest(e *Env, observed Observed, desired State) (Plan, []Stranger, error) {
	d := newDiffer(e, observed, desired)
	others := d.strangers()
	p, err := d.plan()
	return p, others, err
}

func newDiffer(e *Env, observed Observed, desired State) *differ {
	if e.FairQueues {
		desired.Shapes = fair(desired.Shapes)
	}
	d := &differ{env: e, old: observed, want: desired, alive: desired.alive(), made: map[string]bool{}, gone: map[string]bool{}, shaped: map[string]bool{}}
	d.first = d.renamed()
	return d
}

func (d *differ) plan() (Plan, error) {
	if err := cmp.Or(d.check(), d.checkSwitch()); err != nil {
		return nil, err
	}
	d.removals()
	add, del := d.elements()
	var early []Element
	if len(d.gone) > 0 {
		early, del = del, nil
	}
	return slices.Concat(d.first, d.serviceRemovals(), d.change(nil, early), d.switchRemovals(), d.stay(), d.unbound(), d.linkRemovals, d.bridges(), d.sysctls(),
		d.change(add, del), d.unfenced(), d.lowers(), d.shapers(), d.ports(), d.macvlans(), d.shapes(), d.switchPorts(), d.services()), nil
}

type differ struct {
	env  *Env
	old  Observed
	want State

	alive        map[string]bool // owners of links that guests hold
	first        Plan            // gives links their names back
	linkRemovals Plan
	gone         map[string]bool // links that the plan removes
	made         map[string]bool // links that the plan makes
	shaped       map[string]bool // links that are bounded as they are made
}

// check refuses names that are not ours.
func (d *differ) check() error {
	for _, name := range sortedKeys(d.want.Bridges) {
		if err := d.checkName(name, d.want.Bridges[name].Owner, d.old.Bridges[name].Owner); err != nil {
			return err
		}
		if _, ok := d.old.Ports[name]; ok {
			return &ForeignError{Name: name, Why: "is a tap of ours and cannot be a bridge"}
		}
	}
	for _, name := range sortedKeys(d.want.Ports) {
		if err := d.checkHeld(name, d.want.Ports[name].Held, d.want.Ports[name].Owner, d.old.Ports[name].Owner); err != nil {
			return err
		}
		if _, ok := d.old.Bridges[name]; ok {
			return &ForeignError{Name: name, Why: "is a bridge of ours and cannot be a tap"}
		}
	}
	for _, name := range sortedKeys(d.want.Shapers) {
		if err := d.checkName(name, d.want.Shapers[name].Owner, d.old.Shapers[name].Owner); err != nil {
			return err
		}
	}
	for _, name := range sortedKeys(d.want.Macvlans) {
		if err := d.checkHeld(name, d.want.Macvlans[name].Held, d.want.Macvlans[name].Owner, d.old.Macvlans[name].Owner); err != nil {
			return err
		}
	}
	return nil
}

func (d *differ) checkName(name, want, have string) error {
	if why, ok := d.old.Foreign[name]; ok {
		return &ForeignError{Name: name, Why: why}
	}
	// Only with everything in view is another owner known to be a dead one's.
	if have != "" && have != want && (!d.old.All || d.old.Partial) {
		return &ForeignError{Name: name, Why: fmt.Sprintf("belongs to %s, which may be in use", have)}
	}
	return nil
}

// checkHeld is checkName for what a guest may hold: then it is never a dead one's.
func (d *differ) checkHeld(name string, held bool, want, have string) error {
	if held {
		if err := d.strange(name, want, have); err != nil {
			return err
		}
		return nil
	}
	return d.checkName(name, want, have)
}

// strange says how a link that a guest holds is not marked as its own; nil when it is, or is not marked at all.
func (d *differ) strange(name, want, have string) *ForeignError {
	if why, ok := d.old.Foreign[name]; ok {
		return &ForeignError{Name: name, Why: why}
	}
	if have != "" && have != want {
		return &ForeignError{Name: name, Why: fmt.Sprintf("belongs to %s, which may be in use", have)}
	}
	return nil
}

// spared reports whether a link that nobody wants is left alone: it is another owner's than the only one looked at, or has
// the label of a guest that runs, which may have it open whatever its name, unless it was about to go.
func (d *differ) spared(owner string, leaving bool) bool {
	return owner != "" && (d.alive[owner] && !leaving || d.old.Owner != "" && owner != d.old.Owner)
}

// removals finds the links that have to go: those nobody wants, those of another owner, taps that are half-made (unless
// somebody holds their descriptors). A half-made bridge that is wanted is finished instead.
func (d *differ) removals() {
	if d.old.Partial {
		return
	}
	var ports []DeleteLink
	for _, name := range sortedKeys(d.old.Ports) {
		have := d.old.Ports[name]
		want, wanted := d.want.Ports[name]
		if !wanted && d.spared(have.Owner, have.Leaving) {
			continue
		}
		if have.Owner == "" && !want.Held || have.Owner != "" && have.Owner != want.Owner {
			ports = append(ports, d.remove(name, have.Owner))
		}
	}
	ports = append(ports, d.macvlanRemovals()...)
	ports = append(ports, d.shaperRemovals()...)
	if len(ports) > 0 {
		d.linkRemovals = append(d.linkRemovals, DeletePorts{Ports: ports})
	}
	for _, name := range sortedKeys(d.old.Bridges) {
		have := d.old.Bridges[name]
		if d.old.Owner != "" && have.Owner != "" && have.Owner != d.old.Owner {
			continue
		}
		if want, ok := d.want.Bridges[name]; !ok || have.Owner != "" && have.Owner != want.Owner {
			d.linkRemovals = append(d.linkRemovals, d.remove(name, have.Owner))
		}
	}
}

func (d *differ) remove(name, owner string) DeleteLink {
	d.gone[name] = true
	return DeleteLink{Link: d.target(name), Owner: owner}
}

// target is a link as it was observed.
func (d *differ) target(name string) target { return target{Name: name, Index: d.old.Index[name]} }

// current is a link as it will be: one the plan makes has no index yet.
func (d *differ) current(name string) target {
	if d.made[name] {
		return target{Name: name}
	}
	return d.target(name)
}

// elements returns what has to be added to and removed from the firewall's sets, sorted.
func (d *differ) elements() (add, del []Element) {
	if d.env.Firewall == nil {
		return nil, nil
	}
	for e := range d.want.Elements {
		if !d.old.Elements[e] {
			add = append(add, e)
		}
	}
	for e := range d.old.Elements {
		if !d.want.Elements[e] && !d.old.Partial {
			del = append(del, e)
		}
	}
	slices.SortFunc(add, compareElements)
	slices.SortFunc(del, compareElements)
	return add, del
}

func compareElements(a, b Element) int {
	return cmp.Or(strings.Compare(a.Set, b.Set), strings.Compare(a.Key, b.Key))
}

func (d *differ) change(add, del []Element) Plan {
	if len(add)+len(del) == 0 {
		return nil
	}
	return Plan{ChangeElements{Add: add, Del: del, render: d.env.Firewall.Render}}
}

func (d *differ) sysctls() Plan {
	var p Plan
	for _, path := range sortedKeys(d.want.Sysctls) {
		if want, have := d.want.Sysctls[path], d.old.Sysctls[path]; have != want {
			p = append(p, d.keepRoutes(path)...)
			p = append(p, SetSysctl{Path: path, Value: want, Old: have})
		}
	}
	return p
}

func (d *differ) serviceRemovals() Plan {
	var p Plan
	if d.env.Services == nil || d.old.Partial {
		return nil
	}
	for _, network := range sortedKeys(d.old.Services) {
		if want, ok := d.want.Services[network]; !ok || d.elsewhere(d.old.Services[network], want) {
			p = append(p, RemoveService{Network: network, Bridge: d.old.Services[network].Bridge})
		}
	}
	return p
}

// elsewhere reports whether what is served is bound to another link than it should be: the bridge of that name is a new one,
// or will be. Its sockets have the addresses that the new one's want.
func (d *differ) elsewhere(have, want Service) bool {
	index, there := d.old.Index[want.Bridge]
	_, wanted := d.want.Bridges[want.Bridge]
	return have.Index != 0 && (there && have.Index != index || !there && wanted)
}

// dhcp serves what is not served as it should be, also where the bridge is another one than the socket is bound to.
func (d *differ) services() Plan {
	var p Plan
	if d.env.Services == nil {
		return nil
	}
	for _, network := range sortedKeys(d.want.Services) {
		want := d.want.Services[network]
		have, ok := d.old.Services[network]
		index := d.old.Index[want.Bridge]
		if ok && have.Bridge == want.Bridge && have.Fingerprint == want.Fingerprint && !d.made[want.Bridge] && (index == 0 || have.Index == index) {
			continue
		}
		p = append(p, SetService{Network: network, Link: d.current(want.Bridge), Service: want})
	}
	return p
}

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
