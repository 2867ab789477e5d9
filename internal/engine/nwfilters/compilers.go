package nwfilters

import (
	"maps"
	"sync"

	"taproom/internal/network/nwfilter"
	"taproom/internal/spec"
)

// compilers hold the Compilers of a set of filters: of the set itself, and of the set with filters that are made for a NIC.
type compilers struct {
	set nwfilter.Set

	mu        sync.Mutex
	by        map[string]*nwfilter.Compiler // by the names of the filters that are added to the set
	variables map[string]variables          // by filter
}

// variables are the names of the variables of a filter, or the error of reading it.
type variables struct {
	names []string
	err   error
}

func newCompilers(set nwfilter.Set) *compilers {
	return &compilers{set: set, by: map[string]*nwfilter.Compiler{}, variables: map[string]variables{}}
}

// with returns the Compiler of the set and these filters. Filters of the same name must be equal.
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

// asked returns the variables of a filter and of the filters that it refers to.
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
