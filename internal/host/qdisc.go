package host

import (
	"fmt"

	"github.com/vishvananda/netlink"
	"github.com/vishvananda/netlink/nl"
	"golang.org/x/sys/unix"
)

// NoQueue gives a link no queue of its own before what the device has; done learns how it ended. A tap that is down and
// gets one so comes up without building a queue for each of its channels: with several channels that costs 10 ms.
func (p *Pipeline) NoQueue(index int, done func(error)) {
	h := nl.TcMsg{Family: unix.AF_UNSPEC, Ifindex: int32(index), Parent: netlink.HANDLE_ROOT}
	r := message(unix.RTM_NEWQDISC, unix.NLM_F_CREATE|unix.NLM_F_REPLACE, &h, nl.NewRtAttr(unix.TCA_KIND, nl.ZeroTerminated("noqueue")))
	p.send("qdisc set", r, func(_ []byte, err error) {
		if err != nil {
			err = fmt.Errorf("give link %d no queue: %w", index, err)
		}
		done(err)
	})
}
