package launch

import (
	"context"
	"errors"
	"fmt"
	"time"

	"taproom/internal/appliance/build"
	"taproom/internal/host"
)

// answerWithin is how long a new kernel may take to its first answer. It takes a third of a second, emulated, on an idle host.
const answerWithin = 5 * time.Minute

// Check returns what tries a kernel: it boots it, emulated, in an appliance like all others, confined and ending with this process,
// and returns when its first process has answered. Of the spec it takes the programs and the cgroup. That these are there is found
// out at once: who has built a kernel has waited long.
func Check(ctx context.Context, s Spec) (func(context.Context, build.Files) error, error) {
	l := &Launcher{spec: s, k: s.Kernel}
	if l.k == nil {
		l.k = host.New(host.Options{})
	}
	l.spec.Way, l.spec.Accelerator = WayCold, "tcg"
	if err := l.resolve(ctx); err != nil { // emulated nothing is tried, so nothing waits
		return nil, fmt.Errorf("find what boots a kernel to check it: %w", err)
	}
	wanted := Spec{
		Kernel: l.k, Way: WayCold, Accelerator: "tcg", QEMU: l.machine.qemu.Binary, Launcher: l.program, Cgroup: s.Cgroup,
	}
	return func(ctx context.Context, f build.Files) error {
		ctx, cancel := context.WithTimeoutCause(ctx, answerWithin, fmt.Errorf("nothing came within %v", answerWithin))
		defer cancel()
		wanted := wanted
		wanted.Files, wanted.NIC = f, f.Network
		a, err := Launch(ctx, wanted)
		if err != nil {
			return fmt.Errorf("its first process does not answer: %w", err)
		}
		err = a.Agent().Ping(ctx)
		if err == nil && f.Network {
			_, err = a.Connect(ctx, Network{})
		}
		return errors.Join(err, a.Close())
	}, nil
}
