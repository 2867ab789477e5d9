package cli

import (
	"context"
	"errors"
	"fmt"
	"time"

	"taproom/internal/appliance/build"
	"taproom/internal/appliance/launch"
	"taproom/internal/doctor"
	"taproom/internal/host"
)

// buildUML builds the kernel for User-Mode Linux, or finds it, and returns its path.
func (env *Env) buildUML(ctx context.Context, force bool) (string, error) {
	k := host.New(host.Options{})
	defer k.Close()
	check, err := launch.CheckUML(launch.Spec{Kernel: k})
	if err != nil {
		return "", err
	}
	p := env.newTeller()
	defer p.done()
	f, err := build.UML(ctx, build.Options{Which: build.Own, Force: force, Check: check, Progress: p.tell})
	return f.Kernel, err
}

// umlWithin is how long a trial of User-Mode Linux may take.
const umlWithin = 30 * time.Second

// umlFinding says whether appliances run in User-Mode Linux: one is launched. Where its kernel was not built nothing is missing.
func umlFinding(ctx context.Context, k *host.Kernel) doctor.Finding {
	f := doctor.Finding{Name: "uml", Status: doctor.OK}
	files, err := build.UML(ctx, build.Options{})
	if errors.Is(err, build.ErrNoUML) {
		f.Evidence = "User-Mode Linux was not built: appliances run in QEMU"
		return f
	}
	began := time.Now()
	if err == nil {
		ctx, cancel := context.WithTimeout(ctx, umlWithin)
		defer cancel()
		err = launch.ProbeUML(ctx, launch.Spec{Kernel: k, Files: build.Files{UML: files}})
	}
	if err != nil {
		f.Status, f.Evidence = doctor.Warning, "no appliance runs in User-Mode Linux: "+launch.OneLine(err)
		f.Remedy = "appliances run in QEMU; leave out the way uml"
		return f
	}
	f.Evidence = fmt.Sprintf("appliances run in User-Mode Linux; one has answered and was gone within %d ms", time.Since(began).Milliseconds())
	return f
}
