package nic

import (
	"context"
	"fmt"
	"net"
	"time"
)

// Ready reports whether a link carries frames: it is up, has a carrier, and the kernel has given it its queues. That is done a moment
// after the carrier came, and what is sent before is lost without a word.
func Ready(name string) bool {
	const carries = net.FlagUp | net.FlagRunning // running: its operational state is up, or its driver knows of none
	link, err := net.InterfaceByName(name)
	return err == nil && link.Flags&carries == carries
}

// AwaitReady returns when a link is Ready, or with an error when ctx is done.
func AwaitReady(ctx context.Context, name string) error {
	events, err := OpenLinkEvents() // first, so that nothing that happens from here on is missed
	if err != nil {
		return err
	}
	defer events.file.Close()
	stop := context.AfterFunc(ctx, func() { _ = events.file.SetReadDeadline(time.Unix(1, 0)) })
	defer stop()
	for !Ready(name) {
		if err := events.Wait(); err != nil {
			if ctx.Err() != nil {
				err = context.Cause(ctx)
			}
			return fmt.Errorf("wait until %s carries frames: %w", name, err)
		}
	}
	return nil
}
