package probe

import (
	"taproom/internal/host"
)

// Fence tries whether a link can be kept from being forwarded through whatever rules there are (host.Fence).
func Fence() error { return Throwaway(func() error { return tryFence(1) }) }

func tryFence(link int) error {
	k := host.New(host.Options{})
	defer k.Close()
	return k.SetFence(link, host.ClosedFence())
}
