// Command taproom is taproom's command line.
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"

	"taproom/internal/cli"
	"taproom/internal/sandbox"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, syscall.SIGINT)
	if !sandbox.Inside() { // there the kernel may repeat the one that tells of the end of the program outside
		context.AfterFunc(ctx, stop) // a second signal ends it at once
	}
	code := cli.Main(ctx, cli.NewEnv(), os.Args[1:])
	stop()
	os.Exit(code)
}
