package cli

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"strings"
	"time"

	"taproom/internal/api/client"
	"taproom/internal/api/own"
	"taproom/internal/api/virterr"
)

// trial asks at the terminal whether a bridge is kept. Who is cut off cannot answer, and the daemon goes back; so it does when
// the terminal is closed, or this program ends otherwise.
func (b *netBridge) trial(ctx context.Context, d *client.Client, on own.LANBridge) error {
	answer := make(chan string, 1)
	go func() { // ends with the process: reading a terminal cannot be cut short
		line, err := bufio.NewReader(b.env.Stdin).ReadString('\n')
		if err == nil {
			answer <- strings.ToLower(strings.TrimSpace(line))
		}
	}()
	over := time.Now().Add(time.Duration(on.LeftMS) * time.Millisecond)
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	for {
		left := time.Until(over).Round(time.Second)
		if left <= 0 {
			fmt.Fprintln(b.env.Stdout)
			return b.notKept(ctx, d, on)
		}
		fmt.Fprintf(b.env.Stdout, "\rkeep %s? (%d s left) [y/N] ", on.Bridge, int(left.Seconds()))
		select {
		case <-tick.C:
		case <-ctx.Done():
			fmt.Fprintln(b.env.Stdout)
			return b.goBack(context.WithoutCancel(ctx), d, on)
		case s := <-answer:
			if s == "y" || s == "yes" {
				r := own.BridgeRequest{Do: own.BridgeKeep, Bridge: on.Bridge}
				out, err := d.Bridge(ctx, r)
				if err != nil {
					return err
				}
				return b.env.print(out, func(w io.Writer) error { return writeBridge(w, r.Do, out) })
			}
			return b.goBack(ctx, d, on)
		}
	}
}

// goBack ends a trial at once.
func (b *netBridge) goBack(ctx context.Context, d *client.Client, on own.LANBridge) error {
	_, err := d.Bridge(ctx, own.BridgeRequest{Do: own.BridgeUndo, Bridge: on.Bridge})
	if err != nil && virterr.CodeOf(err) != virterr.InvalidArg { // there is no such bridge any more: the daemon was faster
		return err
	}
	return errNotKept(on, "not kept")
}

// notKept says how a trial ended whose time is over: the daemon, whose clock counts, may have gone back already.
func (b *netBridge) notKept(ctx context.Context, d *client.Client, on own.LANBridge) error {
	out, err := d.Bridge(ctx, own.BridgeRequest{Do: own.BridgeList})
	if err != nil {
		return err
	}
	for _, other := range out.Bridges {
		if other.Bridge == on.Bridge && other.State == "kept" {
			fmt.Fprintf(b.env.Stdout, "%s was kept by somebody else\n", on.Bridge)
			return nil
		}
		if other.Bridge == on.Bridge {
			return b.goBack(ctx, d, on)
		}
	}
	return errNotKept(on, "nobody answered in time")
}
