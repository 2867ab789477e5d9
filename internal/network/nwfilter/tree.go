package nwfilter

import (
	"maps"
	"slices"
	"strconv"
	"strings"

	"taproom/internal/spec"
)

// What one filter can become at most.
const (
	maxVisits = 100_000 // references followed
	maxRules  = 200_000 // rules, before and after lists are expanded
)

// variable is what a variable stands for in one place. Values that come from the NIC can be left open in a Program; those
// that a <filterref> between filters gives are part of it.
type variable struct {
	values  []string
	fromNIC bool
}

// instance is a rule in one place of the tree of references.
type instance struct {
	*parsed
	path          []string
	chain         string
	chainPriority int
	vars          map[string]variable
}

// tree walks over a filter and all that it refers to.
type tree struct {
	set    Set
	root   string
	parsed map[string][]*parsed // of each filter, once
	visits int
	all    []instance
}

func (t *tree) walk(path []string, vars map[string]variable) error {
	name := path[len(path)-1]
	if slices.Contains(path[:len(path)-1], name) {
		return &LoopError{Path: slices.Clone(path)}
	}
	f := t.set[name]
	if f == nil {
		return &MissingError{Path: slices.Clone(path)}
	}
	if t.visits++; t.visits > maxVisits {
		return &SizeError{Root: t.root, What: "references", Most: maxVisits}
	}
	rules, err := t.read(f, path)
	if err != nil {
		return err
	}
	chain := f.Chain
	if chain == "" {
		chain = "root"
	}
	_, priority := chainProtocol(chain)
	if f.Priority != "" {
		if priority, err = strconv.Atoi(f.Priority); err != nil {
			return f.Validate()
		}
	}
	if len(t.all)+len(rules) > maxRules {
		return &SizeError{Root: t.root, What: "rules", Most: maxRules}
	}
	own := slices.Clone(path)
	n := 0
	for _, e := range f.Entries {
		if e.Ref != nil {
			if err := t.walk(append(path, e.Ref.Filter), inner(vars, e.Ref)); err != nil {
				return err
			}
			continue
		}
		t.all = append(t.all, instance{parsed: rules[n], path: own, chain: chain, chainPriority: priority, vars: vars})
		n++
	}
	return nil
}

// inner returns the variables below a reference. Those from outside win over those that the reference itself gives, as in
// libvirt: what stands in a filter is what holds where nobody says otherwise.
func inner(vars map[string]variable, ref *spec.FilterRef) map[string]variable {
	if len(ref.Params) == 0 {
		return vars
	}
	m := map[string]variable{}
	for name, values := range ref.Values() {
		m[name] = variable{values: values}
	}
	maps.Copy(m, vars)
	return m
}

// read parses the rules of a filter.
func (t *tree) read(f *spec.Filter, path []string) ([]*parsed, error) {
	if rules, ok := t.parsed[f.Name]; ok {
		return rules, nil
	}
	if err := f.Validate(); err != nil {
		return nil, &RuleFrameError{Path: slices.Clone(path), Err: err}
	}
	rules, err := readRules(f, slices.Clone(path))
	t.parsed[f.Name] = rules
	return rules, err
}

// RuleFrameError says that the document of a filter is wrong in itself; see spec.Filter.Validate.
type RuleFrameError struct {
	Path []string
	Err  error
}

// Error implements error.
func (e *RuleFrameError) Error() string { return "filter " + path(e.Path) + ": " + e.Err.Error() }

// Unwrap returns the error of the document.
func (e *RuleFrameError) Unwrap() error { return e.Err }

func readRules(f *spec.Filter, path []string) ([]*parsed, error) {
	r := &ruleReader{path: path}
	var rules []*parsed
	for _, e := range f.Entries {
		if e.Rule == nil {
			continue
		}
		r.index++
		p, err := r.read(f.Name, e.Rule)
		if err != nil {
			return nil, err
		}
		rules = append(rules, p)
	}
	return rules, nil
}

// Check reports what is wrong with a filter in itself: its document, and every rule as far as it can be judged without the
// values of variables. What it refers to need not be there. Errors are *RuleFrameError and *RuleError.
func Check(f *spec.Filter) error {
	if err := f.Validate(); err != nil {
		return &RuleFrameError{Path: []string{f.Name}, Err: err}
	}
	rules, err := readRules(f, []string{f.Name})
	if err != nil {
		return err
	}
	for _, p := range rules {
		in := &instance{parsed: p, path: []string{f.Name}}
		if _, err := in.build(func(*use) (string, SlotName) { return "", "" }); err != nil {
			return err
		}
	}
	return nil
}

// Variables returns the names of all variables that a filter and those below it use, sorted. Errors are those of Compile
// for the tree itself. An engine asks for IP here before it learns addresses.
func Variables(set Set, root string) ([]string, error) {
	t := &tree{set: set, root: root, parsed: map[string][]*parsed{}}
	if err := t.walk([]string{root}, nil); err != nil {
		return nil, err
	}
	names := map[string]bool{}
	for i := range t.all {
		for _, u := range t.all[i].uses {
			if u.access == nil {
				continue
			}
			if _, given := t.all[i].vars[u.access.name]; !given {
				names[u.access.name] = true
			}
		}
	}
	return slices.Sorted(maps.Keys(names)), nil
}

// CheckReferences reports whether the references of every filter in the set lead to filters of the set and never back,
// beginning at root. Unlike Compile it reads no rules.
func CheckReferences(set Set, root string) error {
	done := map[string]bool{}
	var walk func(path []string) error
	walk = func(path []string) error {
		name := path[len(path)-1]
		switch {
		case slices.Contains(path[:len(path)-1], name):
			return &LoopError{Path: slices.Clone(path)}
		case set[name] == nil:
			return &MissingError{Path: slices.Clone(path)}
		case done[name]:
			return nil
		}
		for _, ref := range set[name].References() {
			if err := walk(append(path, ref)); err != nil {
				return err
			}
		}
		done[name] = true
		return nil
	}
	return walk([]string{root})
}

// Users returns the names of the filters of a set that refer to name, directly or through others, sorted.
func Users(set Set, name string) []string {
	by := map[string][]string{}
	for user, f := range set {
		for _, ref := range f.References() {
			by[ref] = append(by[ref], user)
		}
	}
	found := map[string]bool{}
	for todo := []string{name}; len(todo) > 0; todo = todo[1:] {
		for _, user := range by[todo[0]] {
			if !found[user] && user != name {
				found[user] = true
				todo = append(todo, user)
			}
		}
	}
	names := slices.Collect(maps.Keys(found))
	slices.SortFunc(names, strings.Compare)
	return names
}
