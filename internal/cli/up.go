package cli

import (
	"errors"
	"fmt"
	"io"
	"math"

	"github.com/spf13/cobra"

	"taproom/internal/api/client"
	"taproom/internal/api/own"
)

const upHelp = `Make the networks and guests of these documents exist and run. Applying them again changes nothing.

On the host this creates bridges, firewall rules, DHCP service, taps and QEMU processes; --dry-run prints them as the
commands one could type, and changes nothing. Networks come first, whatever the order of the documents; "-" is standard
input. A document that is not valid stops everything before anything is done; a guest or network that does not start stays
defined, and stops nothing but what needs it.

  taproom up network.xml guest.xml
  taproom up --dry-run --accel auto guest.xml

Exit codes: 0 everything is up, 1 something failed, 2 the command line is wrong.`

func newUp(env *Env) *cobra.Command {
	var r own.ApplyRequest
	c := &cobra.Command{
		Use: "up FILE...", Short: "Make the networks and guests of documents exist and run", Long: upHelp,
		Args: arguments(1, math.MaxInt, "at least one document"), ValidArgsFunction: documents,
	}
	c.RunE = func(c *cobra.Command, args []string) error {
		switch r.Accel {
		case "", "auto", "kvm", "tcg":
		default:
			return &usageError{fmt.Errorf("--accel %q: there is auto, kvm and tcg", r.Accel)}
		}
		return runApply(c, env, r, args)
	}
	c.Flags().BoolVar(&r.DryRun, "dry-run", false, "print the commands and change nothing")
	c.Flags().StringVar(&r.Accel, "accel", "", "kvm, tcg, or auto (KVM where it works), instead of what the documents say")
	_ = c.RegisterFlagCompletionFunc("accel", cobra.FixedCompletions([]string{"auto", "kvm", "tcg"}, cobra.ShellCompDirectiveNoFileComp))
	return c
}

const downHelp = `Stop and undefine the networks and guests of these documents: the opposite of up.

Guests are stopped at once, as "virsh destroy" does; --dry-run prints what would be done. What is not there is success.

  taproom down guest.xml network.xml

Exit codes: 0 everything is gone, 1 something failed, 2 the command line is wrong.`

func newDown(env *Env) *cobra.Command {
	r := own.ApplyRequest{Remove: true}
	c := &cobra.Command{
		Use: "down FILE...", Short: "Stop and undefine the networks and guests of documents", Long: downHelp,
		Args: arguments(1, math.MaxInt, "at least one document"), ValidArgsFunction: documents,
	}
	c.RunE = func(c *cobra.Command, args []string) error { return runApply(c, env, r, args) }
	c.Flags().BoolVar(&r.DryRun, "dry-run", false, "print the commands and change nothing")
	return c
}

func runApply(c *cobra.Command, env *Env, r own.ApplyRequest, names []string) error {
	docs, err := env.readDocuments(names)
	if err != nil {
		return err
	}
	r.Documents = docs
	return env.with(c.Context(), func(d *client.Client) error {
		result, err := d.Apply(c.Context(), r)
		if c.Context().Err() != nil {
			return errors.New("interrupted; what was under way goes on in the daemon: taproom ls")
		}
		if err != nil {
			return err
		}
		if err := env.print(result, func(w io.Writer) error { return env.writeApply(w, r, result) }); err != nil {
			return err
		}
		var failed []error
		for _, o := range result.Objects {
			if o.Action == "failed" {
				failed = append(failed, fmt.Errorf("%s %s: %s", o.Kind, o.Name, o.Error))
			}
		}
		if len(failed) > 0 {
			return &shownError{errors.Join(failed...)}
		}
		return nil
	})
}

func (env *Env) writeApply(w io.Writer, r own.ApplyRequest, result own.ApplyResult) error {
	if r.DryRun {
		env.writeSteps(w, result.Steps)
	}
	for _, o := range result.Objects {
		env.writeObject(w, r.DryRun, o)
	}
	return nil
}

// writeObject writes what happened to one object: failures and notes to standard error.
func (env *Env) writeObject(w io.Writer, dryRun bool, o own.ObjectResult) {
	line := fmt.Sprintf("%-8s %-20s ", o.Kind, o.Name)
	switch {
	case o.Error != "":
		fmt.Fprintf(env.Stderr, "%s%s: %s\n", line, env.styleErr(red, o.Action), o.Error)
	case dryRun:
		fmt.Fprintf(w, "# %s%s\n", line, o.Action)
	case o.Action == "unchanged":
		fmt.Fprintf(w, "%s%s\n", line, env.style(faint, o.Action))
	default:
		fmt.Fprintf(w, "%s%s\n", line, env.style(green, o.Action))
	}
	for _, n := range o.Notes {
		fmt.Fprintf(env.Stderr, "  note: %s\n", n)
	}
}

// writeSteps prints a plan so that a shell could run it.
func (env *Env) writeSteps(w io.Writer, steps []own.Step) {
	object := ""
	for _, s := range steps {
		if s.Object != object {
			object = s.Object
			fmt.Fprintln(w, env.style(faint, "# "+object))
		}
		fmt.Fprintln(w, s.Command)
	}
}
