package state

import (
	"context"
	"strings"

	"taproom/internal/host"
)

// SetSwitchPorts makes and changes ports of Open vSwitch, in one transaction.
type SetSwitchPorts struct {
	creates
	Ports  []SwitchSetting
	labels func(owner string) map[string]string
}

// String implements Step.
func (s SetSwitchPorts) String() string {
	c := vsctl{}
	for _, p := range s.Ports {
		if p.Old != nil {
			c.command("--if-exists", "del-port", p.Old.Bridge, p.Name)
		}
		set, clear := p.Port.VLAN.columns(p.Row != "")
		if p.Row == "" {
			c.command(append([]string{"add-port", p.Port.Bridge, p.Name, "other_config:transient=true"}, append(ids(s.labels(p.Port.Owner)), set...)...)...)
		} else if len(set) > 0 {
			c.command(append([]string{"set", "Port", p.Name}, set...)...)
		}
		if len(clear) > 0 {
			c.command(append([]string{"clear", "Port", p.Name}, clear...)...)
		}
		if len(p.Port.IDs) > 0 {
			c.command(append([]string{"set", "Interface", p.Name}, ids(p.Port.IDs)...)...)
		}
		if p.Port.Bounded {
			c.command("--id=@"+p.Name, "create", "QoS", "type=linux-noop")
			c.command("set", "Port", p.Name, "qos=@"+p.Name)
		}
	}
	return c.String()
}

// Apply implements Step. When a tap's name turned out to be somebody else's, nothing is plugged: it would be their link.
func (s SetSwitchPorts) Apply(ctx context.Context, r *Run) error {
	for _, p := range s.Ports {
		if r.lost[p.Name] != nil {
			return nil
		}
	}
	return r.Switch.Set(ctx, s.Ports)
}

// RemoveSwitchPorts removes ports of Open vSwitch, in one transaction.
type RemoveSwitchPorts struct {
	Ports []SwitchRow
}

// Deletes implements Step.
func (RemoveSwitchPorts) Deletes() bool { return true }

// String implements Step.
func (s RemoveSwitchPorts) String() string {
	c := vsctl{}
	for _, p := range s.Ports {
		if p.Bridge == "" { // on none: the database forgets it by itself
			continue
		}
		c.command("--if-exists", "del-port", p.Bridge, p.Name)
	}
	return c.String()
}

// Apply implements Step.
func (s RemoveSwitchPorts) Apply(ctx context.Context, r *Run) error {
	return r.Switch.Remove(ctx, s.Ports)
}

// NotForHost keeps what a guest sends through a new tap from the host's own stack: a switch that moves frames itself reads
// them beside the stack, and the stack would answer for the host and forward, past the switch.
type NotForHost struct {
	creates
	Link target
}

// String implements Step.
func (s NotForHost) String() string {
	return shell("tc", "qdisc", "add", "dev", s.Link.Name, "clsact") + "\n" +
		shell("tc", "filter", "add", "dev", s.Link.Name, "ingress", "prio", "1", "bpf", "direct-action", "bytecode", "1,6 0 0 2")
}

// Apply implements Step.
func (s NotForHost) Apply(_ context.Context, r *Run) error { return alone(r, s) }

func (s NotForHost) send(p *host.Pipeline, r *Run, done func(error)) {
	i, err := r.index(s.Link.Name, s.Link.Index)
	if err != nil {
		done(err)
		return
	}
	p.NotForHost(i, done)
}

func (s NotForHost) about() string { return s.Link.Name }

// vsctl is a command line of ovs-vsctl: its commands are one transaction.
type vsctl struct{ words []string }

func (c *vsctl) command(words ...string) {
	if len(c.words) == 0 {
		c.words = append(c.words, "ovs-vsctl")
	}
	c.words = append(append(c.words, "--"), words...)
}

func (c *vsctl) String() string { return shell(c.words...) }

// ids are external_ids as ovs-vsctl takes them, sorted. Its own quotes keep what else would end a value.
func ids(m map[string]string) []string {
	var out []string
	for _, k := range sortedKeys(m) {
		v := m[k]
		if v == "" || strings.ContainsAny(v, " ,:=\"\\{}[]") {
			v = `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(v) + `"`
		}
		out = append(out, "external_ids:"+k+"="+v)
	}
	return out
}
