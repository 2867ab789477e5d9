package state

import (
	"context"
	"strconv"
)

// SetIsolated keeps a bridge's port apart from its other isolated ports, or no longer.
type SetIsolated struct {
	creates
	Link target
	On   bool
}

// String implements Step.
func (s SetIsolated) String() string {
	return shell("ip", "link", "set", "dev", s.Link.Name, "type", "bridge_slave", "isolated", map[bool]string{true: "on", false: "off"}[s.On])
}

// Apply implements Step.
func (s SetIsolated) Apply(_ context.Context, r *Run) error {
	i, err := r.index(s.Link.Name, s.Link.Index)
	if err != nil {
		return err
	}
	return r.Kernel.SetIsolated(i, s.On)
}

// SetCoalesce lets a tap that was just made gather frames.
type SetCoalesce struct {
	creates
	Name   string
	Frames uint32
}

// String implements Step.
func (s SetCoalesce) String() string {
	return shell("ethtool", "-C", s.Name, "rx-frames", strconv.FormatUint(uint64(s.Frames), 10))
}

// Apply implements Step.
func (s SetCoalesce) Apply(_ context.Context, r *Run) error {
	return r.Kernel.SetCoalesce(s.Name, s.Frames)
}

// particulars are what of a port follows once it is on its bridge.
func particulars(link target, have, want Port) Plan {
	var p Plan
	if have.Master != want.Master {
		have.Isolated, have.Managed, have.Table = false, false, "" // another bridge knows nothing of it
	}
	if want.Master != "" && have.Isolated != want.Isolated {
		p = append(p, SetIsolated{Link: link, On: want.Isolated})
	}
	if want.Master != "" {
		p = append(p, table(link, have, want)...)
	}
	return p
}
