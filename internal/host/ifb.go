package host

import (
	"errors"
	"fmt"

	"github.com/vishvananda/netlink/nl"
	"golang.org/x/sys/unix"
)

// CreateIFB makes an ifb, a link that what comes in through another one takes as if it left through this, so that a queue can
// bound it. It is down. ErrTaken when there is a link of that name; done learns how it ended.
func (p *Pipeline) CreateIFB(name string, group uint32, done func(index int, err error)) {
	info := nl.NewRtAttr(unix.IFLA_LINKINFO, nil)
	info.AddRtAttr(unix.IFLA_INFO_KIND, nl.NonZeroTerminated("ifb"))
	p.create("link create", name, func(index int, err error) {
		switch {
		case errors.Is(err, unix.EEXIST):
			err = fmt.Errorf("%w: %w", ErrTaken, err)
		case errors.Is(err, unix.EOPNOTSUPP):
			err = &Missing{What: "ifb", Config: "CONFIG_IFB", Err: err}
		}
		if err != nil {
			err = fmt.Errorf("create ifb %s: %w", name, err)
		}
		done(index, err)
	}, linkHeader(0), nl.NewRtAttr(unix.IFLA_IFNAME, nl.ZeroTerminated(name)), nl.NewRtAttr(unix.IFLA_GROUP, nl.Uint32Attr(group)), info)
}
