package host

import (
	"errors"
	"fmt"

	"github.com/vishvananda/netlink/nl"
	"golang.org/x/sys/unix"
)

// DeleteLink removes the link with that index, whatever its name is by now. One that is gone is not an error. The
// removal waits for a grace period of the kernel, some 20 ms.
func (k *Kernel) DeleteLink(index int) error {
	k.Step("link delete")
	return k.deleteLink(index)
}

// DeleteLinks removes several links that are not bridges by one request, so that they wait for one grace period and not
// each for one: they are moved into a group first, in which nothing is that should stay, and the group is removed. (Side by
// side by index 82 taps take three times as long, one after the other 2 s.) Those that are gone are no error.
func (k *Kernel) DeleteLinks(group uint32, indexes []int) error {
	switch len(indexes) {
	case 0:
		return nil
	case 1:
		return k.DeleteLink(indexes[0])
	}
	if group == 0 { // every link's that was told nothing else
		return errors.New("delete links: group 0 is everybody's")
	}
	var errs []error
	p := k.Pipeline()
	for _, index := range indexes {
		if index <= 0 {
			errs = append(errs, fmt.Errorf("delete link: %d is no index", index))
			continue
		}
		p.SetLink(index, LinkSettings{Group: group}, func(err error) {
			if err != nil && !errors.Is(err, ErrNoLink) {
				errs = append(errs, err)
			}
		})
	}
	p.Flush()
	k.Step("link delete")
	err := k.do(unix.RTM_DELLINK, 0, linkHeader(0), nl.NewRtAttr(unix.IFLA_GROUP, nl.Uint32Attr(group)))
	if err != nil && !errors.Is(err, unix.ENODEV) { // all are gone
		errs = append(errs, fmt.Errorf("delete the links of group %d: %w", group, err))
	}
	return errors.Join(errs...)
}

func (k *Kernel) deleteLink(index int) error {
	if index <= 0 {
		return fmt.Errorf("delete link: %d is no index", index) // the kernel would fall back to name or group
	}
	err := k.do(unix.RTM_DELLINK, 0, linkHeader(index))
	if err != nil && !errors.Is(err, unix.ENODEV) {
		return fmt.Errorf("delete link %d: %w", index, err)
	}
	return nil
}
