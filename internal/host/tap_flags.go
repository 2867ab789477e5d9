package host

import (
	"fmt"
	"os"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// TapHeader reports whether the frames of a tap carry a virtio-net header, as it was made.
func (k *Kernel) TapHeader(name string) (bool, error) {
	k.Step("tap flags")
	var b []byte
	var err error
	k.InNetNS(func() { b, err = os.ReadFile("/sys/class/net/" + name + "/tun_flags") }) // /sys shows a network namespace
	if err != nil {
		return false, fmt.Errorf("flags of tap %s: %w", name, err)
	}
	flags, err := strconv.ParseUint(strings.TrimSpace(string(b)), 0, 32)
	if err != nil {
		return false, fmt.Errorf("flags of tap %s: %w", name, err)
	}
	return flags&unix.IFF_VNET_HDR != 0, nil
}
