package host

import (
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// AttachTap opens a tap that somebody else made and that stays when it is closed. ErrNoLink when there is none: it makes
// none itself. A user without root gets the taps that were made for that user (ip tuntap add … user …).
func (k *Kernel) AttachTap(name string) (*os.File, error) {
	l, err := k.LinkByName(name)
	if err != nil {
		return nil, err
	}
	if l.Kind != "tun" {
		return nil, fmt.Errorf("link %s is no tap: %w", name, unix.EINVAL)
	}
	k.Step("tap attach")
	var f *os.File
	k.InNetNS(func() { f, err = openTap(name, unix.IFF_TAP|unix.IFF_NO_PI|unix.IFF_VNET_HDR) })
	if err != nil {
		return nil, fmt.Errorf("attach to tap %s: %w", name, err)
	}
	return f, nil
}
