// Command taproom-vnet answers DHCP, router solicitations, DNS and TFTP for all virtual networks of one daemon, as a user of its own that can do nothing
// else. The daemon starts it; it is of no use by itself.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"

	"golang.org/x/sys/unix"

	"taproom/internal/network/helper/vnetd"
	"taproom/internal/network/lease"
	"taproom/internal/version"
)

// listenerFD is where the daemon puts the listening control socket.
const listenerFD = 3

func main() {
	var c vnetd.Confinement
	flag.IntVar(&c.UID, "uid", 0, "user to become")
	flag.IntVar(&c.GID, "gid", 0, "group to become")
	flag.StringVar(&c.Root, "root", "", "empty directory to become the root")
	flag.Uint64Var(&c.Files, "files", 1<<16, "how many descriptors it may have; a network takes up to nine")
	flag.BoolVar(&c.Connects, "connects", false, "may connect to guests, for ports of the loopback that lead to them")
	show := flag.Bool("version", false, "print the version and end")
	flag.Parse()
	if *show {
		fmt.Println("taproom-vnet", version.Version)
		return
	}
	if err := run(c); err != nil {
		fmt.Fprintln(os.Stderr, "taproom-vnet:", err)
		os.Exit(1)
	}
}

func run(c vnetd.Confinement) error {
	ctx, stop := signal.NotifyContext(context.Background(), unix.SIGTERM)
	defer stop()
	owner := os.Getuid()
	listener := os.NewFile(listenerFD, "control socket")
	clock, err := lease.System() // reads a file, which the root has not any more
	if err != nil {
		return err
	}
	confined, err := c.Enter()
	if err != nil {
		return err
	}
	return vnetd.Serve(ctx, listener, vnetd.Options{Owner: uint32(owner), Build: version.Version, Confined: confined, Clock: clock})
}
