// Command lane runs the tests of this repository in lanes. The gate decides whether a change is taken; the long lane reports.
//
//	lane test -repo DIR -gotestsum FILE [-out DIR] [-timeout D] [PACKAGE...]
//	lane long -repo DIR [-budget D] [-rotate COMMIT] TARGET:MINUTES...
//	lane soak -repo DIR [-base REVISION] [-times N] [-machines N] [-burn=false]
//
// test runs all packages, then each failed test again, alone and twice, where package judge allows that. It exits 1 when a test failed
// for good. long runs targets of the Makefile in sequence as far as the budget carries; it exits 0 even when they fail.
// soak runs the tests that differ from a revision many times while all processors are busy, and prints how often each failed.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"strings"
	"syscall"
)

const usage = "usage: lane test|long|soak OPTIONS; see the comment of tools/lane/main.go"

// errFailed ends the process with exit code 1; the reasons were printed.
var errFailed = errors.New("failed")

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, os.Args[1:])
	stop()
	switch {
	case errors.Is(err, errFailed):
		os.Exit(1)
	case err != nil:
		fmt.Fprintln(os.Stderr, "lane:", err)
		os.Exit(2)
	}
}

func run(ctx context.Context, args []string) error {
	if len(args) == 0 {
		return errors.New(usage)
	}
	switch args[0] {
	case "test":
		return runTest(ctx, os.Stdout, args[1:])
	case "long":
		return runLong(ctx, os.Stdout, args[1:])
	case "soak":
		return runSoak(ctx, os.Stdout, args[1:])
	case "burn": // a child of soak
		return burn(strings.Join(args[1:], " "))
	}
	return fmt.Errorf("unknown lane %q; %s", args[0], usage)
}
