package bench

import (
	"context"
	"path/filepath"
	"slices"

	"taproom/internal/appliance"
	boots "taproom/internal/appliance/build"
)

// Prepare makes the files that the benchmark's machines boot from, or finds them made. It may download the distribution's kernel,
// for which a sandbox has no network: call it before the sandbox is entered. say is called with the name of a download or of other long work.
func (m Member) Prepare(ctx context.Context, o Options, say func(string)) error {
	if m.prepare == nil {
		return nil
	}
	return m.prepare(ctx, o, say)
}

// prepareAppliance makes the kernel and the initramfs of appliances.
func prepareAppliance(ctx context.Context, o Options, say func(string)) error {
	_, err := boots.Ensure(ctx, boots.Options{AgentPath: filepath.Join(o.Programs, "taproom-init"), Progress: say})
	return err
}

// prepareShape makes the built-in guest, where limits are measured through a guest. Limits of a tap are measured without it as well.
func prepareShape(ctx context.Context, o Options, say func(string)) error {
	if !slices.Contains(o.Through, throughGuest) {
		return nil
	}
	_, err := appliance.Ensure(ctx, appliance.Options{AgentPath: filepath.Join(o.Programs, "taproom-agent"), Progress: say})
	if err != nil && ctx.Err() == nil && slices.Contains(o.Through, throughTap) {
		say(err.Error())
		return nil
	}
	return err
}
