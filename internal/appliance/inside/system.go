package inside

import (
	"context"

	"taproom/internal/appliance/proto"
)

// system is the appliance's state: what it is, and its tree.
type system struct {
	version             string
	initNano, readyNano int64
	tree                tree
	bootIDCovered       bool
}

// server returns the table of what a host can ask for.
func (s *system) server() *proto.Server {
	return &proto.Server{
		// These wait for nothing but the kernel's memory. The others may wait for a disk, and the heartbeat shall not.
		Inline: map[proto.Op]proto.Handler{
			proto.OpPing:  func(context.Context, *proto.Call) (proto.Message, error) { return nil, nil },
			proto.OpHello: s.hello,
		},
		Handlers: map[proto.Op]proto.Handler{
			proto.OpShutdown: s.shutdown,
			proto.OpMount:    s.mount,
			proto.OpUnmount:  s.unmount,
			proto.OpMounts:   s.mounts,
			proto.OpList:     s.tree.list,
			proto.OpStat:     s.tree.stat,
			proto.OpStatfs:   s.tree.statfs,
		},
	}
}
