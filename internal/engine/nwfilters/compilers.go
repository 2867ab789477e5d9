package nwfilters

import (
	"maps"
	"sync"

	"taproom/internal/network/nwfilter"
	"taproom/internal/spec"
)

// compilers compile the filters of one set for NICs, of which some are judged by a filter that is made for them.
type compilers struct {
	set nwfilter.Set

	mu        sync.Mutex
	by        map[string]*nwfilter.Compiler // by the names of the filters that the set lacks
	variables map[string]variables          // by filter
}

// variables are the names of those that a filter asks for, or why that is not known.
type variables struct {
	names []string
	err   error
}

func newCompilers(set nwfilter.Set) *compilers {
	return &compilers{set: set, by: map[string]*nwfilter.Compiler{}, variables: map[string]variables{}}
}

// with compiles the filters of the set and these, whose names say all that is in them.
func (c *compilers) with(docs ...*spec.Filter) *nwfilter.Compiler {
	c.mu.Lock()
	defer c.mu.Unlock()
	var name string
	for _, doc := range docs {
		name += doc.Name + "\n"
	}
	one := c.by[name]
	if one == nil {
		set := c.set
		if len(docs) > 0 {
			set = maps.Clone(set)
		}
		for _, doc := range docs {
			set[doc.Name] = doc
		}
		one = nwfilter.NewCompiler(set)
		c.by[name] = one
	}
	return one
}

// asked are the variables that a filter and those below it ask for.
func (c *compilers) asked(root string) ([]string, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	v, ok := c.variables[root]
	if !ok {
		v.names, v.err = nwfilter.Variables(c.set, root)
		c.variables[root] = v
	}
	return v.names, v.err
}
