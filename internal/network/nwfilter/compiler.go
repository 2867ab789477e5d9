package nwfilter

import (
	"maps"
	"slices"
	"strconv"
	"sync"
	"weak"
)

// Compiler compiles the filters of a Set for many NICs. NICs with the same root share a Program, compiled once, when their parameters
// differ only in values of slots. The filters of the Set must not change. Its methods may be called from several goroutines.
type Compiler struct {
	set Set

	mu    sync.Mutex
	made  map[string]made                  // by root and the shape of parameters
	whole map[string]weak.Pointer[Program] // by Key; Programs with written values go with the NICs that have them
	most  int                              // of whole, until those that are gone are looked for
}

// made is a Program whose rules contain no value of a variable, and the uses of variables that became its slots.
type made struct {
	program *Program
	slots   []open
}

// open is a use of a variable that became a slot.
type open struct {
	in *instance
	u  *use
}

// NewCompiler returns a Compiler for the filters of a set.
func NewCompiler(set Set) *Compiler {
	return &Compiler{set: set, made: map[string]made{}, whole: map[string]weak.Pointer[Program]{}}
}

// Compile returns the same as the function Compile, with the same errors.
func (c *Compiler) Compile(root string, params Params) (*Program, Values, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	shape := params.shape(root)
	if m, ok := c.made[shape]; ok {
		if values, err := m.values(params); err == nil {
			return m.program, values, nil
		}
	}
	x, err := compileAll(c.set, root, params)
	if err != nil {
		return nil, nil, err
	}
	p := x.program()
	if same := c.whole[p.Key].Value(); same != nil {
		p = same
	} else {
		c.whole[p.Key] = weak.Make(p)
		c.sweep()
	}
	if !x.written {
		c.made[shape] = made{program: p, slots: x.opened}
	}
	return p, x.values, nil
}

// sweep forgets Programs that are gone, whenever there are twice as many as the last time.
func (c *Compiler) sweep() {
	if len(c.whole) <= c.most {
		return
	}
	maps.DeleteFunc(c.whole, func(_ string, p weak.Pointer[Program]) bool { return p.Value() == nil })
	c.most = 2*len(c.whole) + 16
}

// shape identifies all that a Program without values in its rules depends on: root, the names of variables, and the number of values of
// each.
func (p Params) shape(root string) string {
	names := make([]string, 0, len(p))
	for name := range p {
		names = append(names, name)
	}
	slices.Sort(names)
	b := strconv.AppendQuote(nil, root)
	for _, name := range names {
		b = strconv.AppendQuote(append(b, ' '), name)
		b = strconv.AppendInt(append(b, ' '), int64(len(p[name])), 10)
	}
	return string(b)
}

// values reads the slots of another NIC.
func (m *made) values(params Params) (Values, error) {
	c := &compiler{values: Values{}}
	vars := params.variables()
	for _, o := range m.slots {
		in := *o.in
		in.vars = vars
		values, err := in.list(o.u)
		if err == nil {
			_, err = c.slot(&in, o.u, values)
		}
		if err != nil {
			return nil, err
		}
	}
	return c.values, nil
}

// variables are the parameters as variables.
func (p Params) variables() map[string]variable {
	vars := make(map[string]variable, len(p))
	for name, values := range p {
		if len(values) > 0 {
			vars[name] = variable{values: values, fromNIC: true}
		}
	}
	return vars
}
