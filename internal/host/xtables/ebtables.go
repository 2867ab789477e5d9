package xtables

import "context"

// ebtables is what the host calls the programs for frames of bridges.
func (v Variant) ebtables() string {
	if v == HostChoice {
		return "ebtables"
	}
	return "ebtables-" + string(v)
}

// CountedFrames is Counted for the rules that bridges ask, those of ebtables. Its tables have no COMMIT at their end.
func (c *Conn) CountedFrames(ctx context.Context) (string, error) {
	return c.run(ctx, c.variant.ebtables()+"-save", []string{"-c"}, "", nil)
}

// RestoreFrames is Restore for the rules that bridges ask. Each table is changed at once. The programs of the older interface
// cannot leave alone what a script does not name, and refuse it.
func (c *Conn) RestoreFrames(ctx context.Context, script string) error {
	begun, over := c.restores.begin()
	defer over()
	_, err := c.run(ctx, c.variant.ebtables()+"-restore", []string{"--noflush"}, script, begun)
	return err
}
