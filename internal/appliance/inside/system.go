package inside

import (
	"context"
	"sync"

	"taproom/internal/appliance/proto"
)

// system is the appliance's state: what it is, and its tree.
type system struct {
	version             string
	initNano, readyNano int64
	tree                tree
	identity            *identity
	children            children
	network             network
	windows             windows
	insiders            insiders

	toolsLock    sync.Mutex
	toolsMounted bool
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

			proto.OpDevices: s.devices,
			proto.OpAwait:   s.awaitDisk,
			proto.OpSync:    s.sync,
			proto.OpCopyIn:  s.copyIn,
			proto.OpCopyOut: s.copyOut,
			proto.OpRun:     s.run,
			proto.OpConnect: s.connect,
			proto.OpRelease: s.releaseDisk,
			proto.OpWalk:    s.tree.walk,
			proto.OpGlance:  s.glance,
			proto.OpTrim:    s.tree.trim,
			proto.OpReread:  s.reread,
			proto.OpResize:  s.windows.change,

			proto.OpRead:        s.tree.read,
			proto.OpWrite:       s.tree.write,
			proto.OpReadlink:    s.tree.readlink,
			proto.OpListXattr:   s.tree.listXattr,
			proto.OpGetXattr:    s.tree.getXattr,
			proto.OpSetXattr:    s.tree.setXattr,
			proto.OpRemoveXattr: s.tree.removeXattr,

			proto.OpMkdir:    change(s.tree.mkdir),
			proto.OpRemove:   change(s.tree.remove),
			proto.OpRename:   change(s.tree.rename),
			proto.OpLink:     change(s.tree.link),
			proto.OpSymlink:  change(s.tree.symlink),
			proto.OpChmod:    change(s.tree.chmod),
			proto.OpChown:    change(s.tree.chown),
			proto.OpTruncate: change(s.tree.truncate),
			proto.OpSetTimes: change(s.tree.setTimes),
		},
	}
}
