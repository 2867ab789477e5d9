package host

import (
	"errors"
	"fmt"

	"github.com/vishvananda/netlink/nl"
	"golang.org/x/sys/unix"
)

// RenameLink gives the link with that index another name. ErrTaken when another link has it. Before Linux 6.2 the kernel
// renames no link that is up: there it is down for the moment.
func (k *Kernel) RenameLink(index int, name string) error {
	rename := func() error {
		return k.change("link rename", index, linkHeader(index), nl.NewRtAttr(unix.IFLA_IFNAME, nl.ZeroTerminated(name)))
	}
	err := rename()
	if errors.Is(err, unix.EBUSY) {
		if err = k.SetUp(index, false); err != nil {
			return err
		}
		err = errors.Join(rename(), k.SetUp(index, true))
	}
	if errors.Is(err, unix.EEXIST) {
		return fmt.Errorf("name link %d %s: %w: %w", index, name, ErrTaken, err)
	}
	return err
}
