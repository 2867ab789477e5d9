package host

import (
	"errors"
	"fmt"
	"sync"

	"golang.org/x/sys/unix"
)

// maxRemovals bounds how many removals are under way at a time.
const maxRemovals = 64

// DeleteLink removes the link with that index, whatever its name is by now. One that is gone is not an error. The
// removal of a bridge waits for a grace period of the kernel, some 20 ms; it has a socket of its own, so other calls do
// not queue behind it.
func (k *Kernel) DeleteLink(index int) error {
	k.Step("link delete")
	c, err := k.removalConn()
	if err != nil {
		return err
	}
	return c.deleteLink(index)
}

// DeleteLinks removes several links that are not bridges, side by side: each waits for a grace period, and waiting
// together they share it. (Bridges wait one after the other under the kernel's lock; side by side they take twice as
// long.) All are tried; the error holds those of all that failed.
func (k *Kernel) DeleteLinks(indexes []int) error {
	if len(indexes) == 1 {
		return k.DeleteLink(indexes[0])
	}
	var wg sync.WaitGroup
	errs := make([]error, min(len(indexes), maxRemovals))
	conns := make([]*rtnl, len(errs))
	defer func() {
		for _, c := range conns {
			if c != nil {
				c.close()
			}
		}
	}()
	for i := range conns {
		var err error
		if conns[i], err = k.dialRtnl(); err != nil {
			return err
		}
	}
	for range indexes { // on the caller's goroutine, as all steps are, and before the first removal
		k.Step("link delete")
	}
	for i, c := range conns {
		wg.Go(func() {
			for j := i; j < len(indexes); j += len(conns) {
				errs[i] = errors.Join(errs[i], c.deleteLink(indexes[j]))
			}
		})
	}
	wg.Wait()
	return errors.Join(errs...)
}

func (c *rtnl) deleteLink(index int) error {
	if index <= 0 {
		return fmt.Errorf("delete link: %d is no index", index) // the kernel would fall back to name or group
	}
	err := c.do(unix.RTM_DELLINK, 0, linkHeader(index))
	if err != nil && !errors.Is(err, unix.ENODEV) {
		return fmt.Errorf("delete link %d: %w", index, err)
	}
	return nil
}
