package launch

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"taproom/internal/appliance/build"
	"taproom/internal/host"
)

// UMLState is how many bytes of the processor's registers the kernel of User-Mode Linux keeps for a program (HOST_FP_SIZE). The host's
// kernel takes them back whole or not at all, so on a processor that has more every program crashes at once.
const UMLState = 2696

// ErrUMLProcessor says that this processor has more registers than that.
var ErrUMLProcessor = errors.New("User-Mode Linux crashes on this processor")

// ProbeUML reports whether an appliance runs in User-Mode Linux here: one was launched and has answered. The error says why not:
// build.ErrNoUML where its kernel is not there.
func ProbeUML(ctx context.Context, s Spec) error {
	s.Way, s.Trace = WayUML, nil
	a, err := Launch(ctx, s)
	if err != nil {
		return err
	}
	return a.Close()
}

// explainUML adds to the error of one that did not come up what is known to be in the way.
func explainUML(err error, state int) error {
	if err != nil && state > UMLState && !errors.Is(err, build.ErrNoUML) {
		return fmt.Errorf("%w: its extended registers have %d bytes, and the kernel saves %d: %w", ErrUMLProcessor, state, UMLState, err)
	}
	return err
}

// CheckUML returns what tries a kernel of User-Mode Linux that was built, as Check does others.
func CheckUML(s Spec) (func(context.Context, build.Files) error, error) {
	l := &Launcher{spec: s, k: s.Kernel}
	if l.k == nil {
		l.k = host.New(host.Options{})
	}
	program, err := findProgram(l.k, s.Launcher)
	if err != nil {
		return nil, fmt.Errorf("find what boots a kernel to check it: %w", err)
	}
	wanted := Spec{Kernel: l.k, Launcher: program, Cgroup: s.Cgroup}
	return func(ctx context.Context, f build.Files) error {
		ctx, cancel := context.WithTimeoutCause(ctx, answerWithin, fmt.Errorf("nothing came within %v", answerWithin))
		defer cancel()
		wanted := wanted
		wanted.Files = f
		return ProbeUML(ctx, wanted)
	}, nil
}

// OneLine is an error without what a guest's kernel printed before it ended: for a table.
func OneLine(err error) string {
	text, _, _ := strings.Cut(err.Error(), "; the last that it said: ")
	return text
}
