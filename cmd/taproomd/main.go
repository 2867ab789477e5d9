// Command taproomd runs KVM guests and their networks, and serves libvirt's clients.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"log/slog"
	"os"
	"os/signal"
	"syscall"
	"time"

	"taproom/internal/daemon"
	"taproom/internal/version"
)

const help = `Run KVM guests and their networks, and serve libvirt's clients until SIGTERM or SIGINT.

It serves libvirt's sockets in /run/libvirt, keeps what is defined in /var/lib/taproom, and takes over what runs from the
daemon before it. Guests and networks stay when it ends. /etc/taproom/taproomd.toml may hold settings; a wrong name in it
is refused. It does not go into the background.

Without root it serves the user's qemu:///session: the sockets in $XDG_RUNTIME_DIR/libvirt, what is defined in
~/.local/state/taproom, settings in ~/.config/taproom/taproomd.toml. Guests run as that user, and there are no networks.

  taproomd --root /tmp/tap

Exit codes: 0 it ended as it was asked to, 1 it failed, 2 the command line is wrong.

Usage: taproomd [flags]

Flags:
`

func main() {
	flag.Usage = func() {
		fmt.Fprint(flag.CommandLine.Output(), help)
		flag.PrintDefaults()
	}
	root := flag.String("root", "", "keep everything below this `folder` instead of /etc, /var and /run")
	timeout := flag.Uint("timeout", 0, "end after so many `seconds` without a client and without a running guest; 0 never ends")
	verbose := flag.Bool("verbose", false, "log what is done, not only what goes wrong")
	counters := flag.String("counters", "", "serve counters of calls into the kernel and of memory on this `socket`, for taproom bench counters")
	show := flag.Bool("version", false, "print the version and end")
	flag.Parse()
	if *show {
		fmt.Println("taproomd", version.Version)
		return
	}
	if flag.NArg() > 0 {
		fmt.Fprintf(os.Stderr, "taproomd: unexpected argument %q; see taproomd -help\n", flag.Arg(0))
		os.Exit(2)
	}
	level := slog.LevelWarn
	if *verbose {
		level = slog.LevelDebug
	}
	log := slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: level}))
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, syscall.SIGINT)
	defer stop()
	if err := daemon.Run(ctx, daemon.Options{Root: *root, Log: log, Timeout: time.Duration(*timeout) * time.Second, Counters: *counters}); err != nil && !errors.Is(err, context.Canceled) {
		fmt.Fprintln(os.Stderr, "taproomd:", err)
		stop()
		os.Exit(1)
	}
}
