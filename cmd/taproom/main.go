// Command taproom is taproom's command line.
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"

	"taproom/internal/cli"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, syscall.SIGINT)
	context.AfterFunc(ctx, stop) // a second signal ends it at once
	code := cli.Main(ctx, cli.NewEnv(), os.Args[1:])
	stop()
	os.Exit(code)
}
