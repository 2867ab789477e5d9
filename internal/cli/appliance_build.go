package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"taproom/internal/appliance/build"
	"taproom/internal/appliance/kbuild"
	"taproom/internal/appliance/launch"
	"taproom/internal/host"
)

const applianceBuildHelp = `Make what disposable appliances boot from, or find it made: a kernel, an initramfs, and a read-only disk of tools.

The kernel is one of a configuration of our own, built from the distribution's source: a third of a second from QEMU's start to
its first process without KVM, where the distribution's takes two seconds. Building it takes tens of minutes on two busy
processors and 3 GiB of disk meanwhile, and the packages gcc, make, flex, bison, bc and libelf-dev. It is booted before it is kept. With
--kernel auto it is built where those packages are, and the distribution's kernel is fetched where they are not.

With --guest a second kernel is built as well: the same with several processors, ACPI, IP and drivers for QEMU's NICs. The guest of
taproom demo boots it from then on, and so do appliances that are to have a network.

With --uml the kernel for User-Mode Linux is built as well, in which an appliance is a process of the host and needs no QEMU; taproom
doctor says whether that runs here.

All of it goes into the cache: /var/cache/taproom/guest for root, taproom/guest in the user's own cache for others. The same
sources and compiler give the same bytes. Nothing is installed, and nothing else of the host is changed. Interrupted, it leaves
nothing behind.

  taproom appliance build
  taproom appliance build --kernel distribution
  taproom appliance build --kernel own --force
  taproom appliance build --guest
  taproom appliance build --uml

Exit codes: 0 made or found, 1 failed (the reason is on stderr), 2 the command line is wrong.`

// applianceFiles is what the command prints.
type applianceFiles struct {
	Kernel  string  `json:"kernel"`
	Own     bool    `json:"own"`
	Why     string  `json:"why,omitempty"` // the kernel is not our own
	Initrd  string  `json:"initrd"`
	Tools   string  `json:"tools,omitempty"`
	Guest   string  `json:"guest_kernel,omitempty"` // with a network; "" where it is the distribution's
	UML     string  `json:"uml_kernel,omitempty"`   // for User-Mode Linux; "" where it was not asked for
	Key     string  `json:"key"`
	Bytes   int64   `json:"bytes"`
	Seconds float64 `json:"seconds"`
}

func newApplianceBuild(env *Env) *cobra.Command {
	var which string
	var force, tools, guest, uml bool
	c := &cobra.Command{
		Use: "build", Short: "Make what appliances boot from: kernel, initramfs, tools", Long: applianceBuildHelp,
		Args: arguments(0, 0, "no arguments"), ValidArgsFunction: nothing,
	}
	c.Flags().StringVar(&which, "kernel", "auto", "`which` kernel: own, distribution or auto")
	c.Flags().BoolVar(&force, "force", false, "make our own kernel and the tools again although they are there")
	c.Flags().BoolVar(&tools, "tools", true, "make the disk of tools")
	c.Flags().BoolVar(&guest, "guest", false, "build the kernel with a network, too, which takes as long again")
	c.Flags().BoolVar(&uml, "uml", false, "build the kernel for User-Mode Linux, too")
	_ = c.RegisterFlagCompletionFunc("kernel", cobra.FixedCompletions(kernels(), cobra.ShellCompDirectiveNoFileComp)) // the flag is there
	c.RunE = func(c *cobra.Command, _ []string) error {
		kind, err := whichKernel(which)
		if err != nil {
			return err
		}
		if guest && kind != build.Own {
			return &usageError{errors.New("--guest is for a kernel of our own: leave out --kernel distribution, which has a network anyway")}
		}
		began := time.Now()
		o := build.Options{Which: kind, Force: force}
		if kind == build.Own {
			k := host.New(host.Options{})
			defer k.Close()
			if o.Check, err = launch.Check(c.Context(), launch.Spec{Kernel: k}); err != nil {
				return err
			}
		}
		r, err := env.buildAppliance(c.Context(), o, which == "auto", tools)
		if err == nil && guest {
			o.Network = true
			var g *applianceFiles
			if g, err = env.buildAppliance(c.Context(), o, which == "auto", false); err == nil && g.Own {
				r.Guest = g.Kernel
			}
		}
		if err != nil {
			return err
		}
		if uml {
			if r.UML, err = env.buildUML(c.Context(), force); err != nil {
				return err
			}
		}
		r.Seconds = time.Since(began).Seconds()
		return env.print(r, r.write)
	}
	return c
}

func kernels() []string { return []string{"own", "distribution", "auto"} }

func whichKernel(name string) (build.Which, error) {
	switch name {
	case "own", "auto":
		return build.Own, nil
	case "distribution":
		return build.Distribution, nil
	}
	return 0, &usageError{fmt.Errorf("--kernel %q: there is own, distribution and auto", name)}
}

// buildAppliance makes everything. Where our own kernel cannot be built here, and need not be, it takes the distribution's and says why.
func (env *Env) buildAppliance(ctx context.Context, o build.Options, auto, tools bool) (*applianceFiles, error) {
	p := env.newTeller()
	defer p.done()
	o.Progress = p.tell
	files, err := build.Ensure(ctx, o)
	var missing *kbuild.MissingError
	why := ""
	if auto && (errors.As(err, &missing) || errors.Is(err, kbuild.ErrNoSource)) {
		why, o.Which = err.Error(), build.Auto
		files, err = build.Ensure(ctx, o)
	}
	if err != nil {
		return nil, err
	}
	if tools {
		if files.Tools, err = build.Tools(ctx, o); err != nil {
			return nil, err
		}
	}
	r := &applianceFiles{Kernel: files.Kernel, Own: files.Own, Initrd: files.Initrd, Tools: files.Tools, Key: files.Key}
	if !r.Own {
		r.Why = why
	}
	for _, path := range []string{files.Kernel, files.Initrd, files.Tools} {
		if info, err := os.Stat(path); err == nil {
			r.Bytes += info.Size()
		}
	}
	return r, nil
}

func (r *applianceFiles) write(w io.Writer) error {
	kind := "the distribution's"
	if r.Own {
		kind = "our own"
	}
	fmt.Fprintf(w, "kernel     %s (%s)\ninitramfs  %s\n", r.Kernel, kind, r.Initrd)
	if r.Tools != "" {
		fmt.Fprintf(w, "tools      %s\n", r.Tools)
	}
	if r.Guest != "" {
		fmt.Fprintf(w, "network    %s\n", r.Guest)
	}
	if r.UML != "" {
		fmt.Fprintf(w, "User-Mode Linux  %s\n", r.UML)
	}
	if r.Why != "" {
		fmt.Fprintf(w, "our own kernel was not built: %s\n", r.Why)
	}
	return nil
}

// teller shows what is being done: on a terminal in one line that changes, elsewhere a line for each step, and of long ones for
// each tenth.
type teller struct {
	w        io.Writer
	terminal bool
}

func (env *Env) newTeller() *teller { return &teller{env.Stderr, env.ErrTerminal} }

func (t *teller) tell(what string) {
	switch {
	case t.terminal:
		fmt.Fprintf(t.w, "\r\x1b[2K… %s", what)
	case !strings.HasSuffix(what, " %") || strings.HasSuffix(what, "0 %"):
		fmt.Fprintln(t.w, what)
	}
}

// say shows what stays on a terminal too.
func (t *teller) say(what string) { fmt.Fprintln(t.w, what) }

func (t *teller) done() {
	if t.terminal {
		fmt.Fprint(t.w, "\r\x1b[2K")
	}
}
