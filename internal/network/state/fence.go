package state

import (
	"context"
	"errors"
	"strings"

	"taproom/internal/host"
)

// fence reads the fence of a bridge. A bridge that is gone has none.
func fence(e *Env, index int) (host.Fence, error) {
	if e.NoFences {
		return host.Fence{}, nil
	}
	f, err := e.Kernel.Fence(index)
	if errors.Is(err, host.ErrNoLink) {
		err = nil
	}
	return f, err
}

// fenceOf is the fence that a desired bridge has in this Env.
func (e *Env) fenceOf(want Bridge) host.Fence {
	if e.Sheltered {
		return want.Fence.Or(want.Shelter)
	}
	return want.Fence
}

// fenced closes a bridge before it comes up, and before the firewall's rules change: it isolates before they do.
func (d *differ) fenced(name string, have, want Bridge) Plan {
	to := have.Fence.Or(d.env.fenceOf(want))
	if d.env.NoFences || to == have.Fence {
		return nil
	}
	return Plan{SetFence{Link: d.current(name), To: to}}
}

// unfenced opens bridges that stay, after the firewall has the rules for packets that are let through.
func (d *differ) unfenced() Plan {
	var p Plan
	for _, name := range sortedKeys(d.want.Bridges) {
		want := d.env.fenceOf(d.want.Bridges[name])
		if have := d.old.Bridges[name].Fence; !d.env.NoFences && !d.made[name] && have.Or(want) != want {
			p = append(p, SetFence{Link: d.target(name), To: want})
		}
	}
	return p
}

// SetFence has a bridge keep packets from being forwarded.
type SetFence struct {
	creates
	Link target
	To   host.Fence
}

// String implements Step. tc takes programs of eBPF from files of compilers alone; it shows them, and removes them.
func (s SetFence) String() string {
	if s.To == (host.Fence{}) {
		var lines []string
		for _, at := range []string{"ingress pref 31340", "egress pref 31340", "egress pref 31341"} {
			lines = append(lines, shell(append([]string{"tc", "filter", "delete", "dev", s.Link.Name}, strings.Fields(at)...)...)+" 2>/dev/null || true")
		}
		return strings.Join(lines, "\n")
	}
	var what []string
	if s.To.From {
		what = append(what, "nothing from its guests through another link")
	}
	for _, in := range []struct {
		stands bool
		family string
	}{{s.To.To4, "IPv4"}, {s.To.To6, "IPv6"}} {
		if in.stands {
			what = append(what, "no "+in.family+" from another link to its guests")
		}
	}
	if s.To == host.ClosedFence() {
		what = []string{"nothing between its guests and other links"}
	}
	return "# no command: forward " + strings.Join(what, ", ") + " (tc filter show dev " + s.Link.Name + " ingress, egress)"
}

// Apply implements Step.
func (s SetFence) Apply(_ context.Context, r *Run) error {
	i, err := r.index(s.Link.Name, s.Link.Index)
	if err != nil {
		return err
	}
	return r.Kernel.SetFence(i, s.To)
}
