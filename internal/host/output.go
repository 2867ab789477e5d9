package host

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
)

// outputMost bounds what is read of a program's output.
const outputMost = 16 << 20

// ExitError is a program that ended otherwise than with status 0.
type ExitError struct {
	Args []string // its name, and what it was called with
	Exit Exit
	Said string // on its standard error
}

// Error has the program's own words.
func (e *ExitError) Error() string {
	return fmt.Sprintf("%s: %s: %s", strings.Join(e.Args, " "), e.Exit, e.Said)
}

// Output runs a program of the host in the Kernel's network namespace and returns what it printed. One that fails is an
// *ExitError; ErrTooLarge is more than anybody reads. It is for programs that people would run themselves, never for what is
// done often.
func (k *Kernel) Output(ctx context.Context, name string, args ...string) (string, error) {
	path, err := k.LookPath(name)
	if err != nil {
		return "", err
	}
	p := Program{Path: path, Args: append([]string{name}, args...), Env: []string{"PATH=/usr/sbin:/usr/bin:/sbin:/bin", "LC_ALL=C"}, Most: outputMost}
	r, err := k.Run(ctx, p)
	if err != nil {
		return "", fmt.Errorf("%s: %w", name, err)
	}
	if r.Exit != (Exit{}) {
		return string(r.Output), &ExitError{Args: p.Args, Exit: r.Exit, Said: r.Words}
	}
	return string(r.Output), nil
}

// LegacyTables are the tables of iptables' old interface that there are, of one family (ip or ip6). nf_tables does not
// show them.
func (k *Kernel) LegacyTables(family string) ([]string, error) {
	k.Step("legacy tables")
	var b []byte
	var err error
	k.InNetNS(func() { b, err = os.ReadFile("/proc/thread-self/net/" + family + "_tables_names") })
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	return strings.Fields(string(b)), err
}
