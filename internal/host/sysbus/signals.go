package sysbus

import (
	"context"

	"github.com/godbus/dbus/v5"
)

// Rule says which signals are wanted.
type Rule struct {
	Sender    string // a name on the bus
	Interface string
	Member    string // "" is every one
	Arg0      string // "" is any
}

// Signal is one that came.
type Signal struct {
	Name string // with its interface
	Body []any
}

// Strings are the first n values of the body; false when they are not n strings or more.
func (s Signal) Strings(n int) ([]string, bool) {
	if len(s.Body) < n {
		return nil, false
	}
	out := make([]string, n)
	for i := range out {
		v, ok := s.Body[i].(string)
		if !ok {
			return nil, false
		}
		out[i] = v
	}
	return out, true
}

// queued is how many signals may wait for Next in their order; more than those lose it.
const queued = 1024

// Signals are those that a connection waits for, from the call that made them on.
type Signals struct {
	in chan *dbus.Signal
}

// Signals subscribes to what any of the rules says. Call it once; the subscription ends with the connection.
func (c *Conn) Signals(ctx context.Context, rules ...Rule) (*Signals, error) {
	s := &Signals{in: make(chan *dbus.Signal, queued)}
	c.bus.Signal(s.in)
	for _, r := range rules {
		options := []dbus.MatchOption{dbus.WithMatchSender(r.Sender), dbus.WithMatchInterface(r.Interface)}
		if r.Member != "" {
			options = append(options, dbus.WithMatchMember(r.Member))
		}
		if r.Arg0 != "" {
			options = append(options, dbus.WithMatchArg(0, r.Arg0))
		}
		if err := c.bus.AddMatchSignalContext(ctx, options...); err != nil {
			if ctx.Err() != nil {
				return nil, context.Cause(ctx)
			}
			return nil, explain(err)
		}
	}
	return s, nil
}

// OwnerChanges is the rule for who has a name: the signal's strings are the name, who had it and who has it.
func OwnerChanges(name string) Rule {
	return Rule{Sender: daemon, Interface: daemon, Member: "NameOwnerChanged", Arg0: name}
}

// IsOwnerChange reports whether a signal is of OwnerChanges.
func (s Signal) IsOwnerChange() bool { return s.Name == daemon+".NameOwnerChanged" }

// Next waits for a signal. When the connection has ended it is ErrClosed.
func (s *Signals) Next(ctx context.Context) (Signal, error) {
	select {
	case <-ctx.Done():
		return Signal{}, context.Cause(ctx)
	case one, ok := <-s.in:
		if !ok {
			return Signal{}, ErrClosed
		}
		return Signal{Name: one.Name, Body: one.Body}, nil
	}
}
