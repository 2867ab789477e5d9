package proto

import "strconv"

// Op is what a request asks for.
type Op uint8

// The operations. The numbers are the protocol's: new ones go to the end, and Version changes when one means something else.
const (
	OpPing Op = iota + 1
	OpHello
	OpShutdown
	OpMount
	OpUnmount
	OpMounts
	OpList
	OpStat
	OpStatfs
	OpDevices
	OpAwait
	OpRead
	OpWrite
	OpMkdir
	OpRemove
	OpRename
	OpSymlink
	OpLink
	OpReadlink
	OpChmod
	OpChown
	OpTruncate
	OpSetTimes
	OpListXattr
	OpGetXattr
	OpSetXattr
	OpRemoveXattr
	OpSync
	OpCopyIn
	OpCopyOut
	OpRun
	OpConnect
	OpRelease
	OpWalk
	OpGlance
	OpResize
	OpTrim
	OpReread
)

func (o Op) String() string {
	names := [...]string{
		OpPing: "ping", OpHello: "hello", OpShutdown: "shutdown", OpMount: "mount", OpUnmount: "unmount", OpMounts: "mounts",
		OpList: "list", OpStat: "stat", OpStatfs: "statfs", OpDevices: "devices", OpAwait: "await", OpRead: "read",
		OpWrite: "write", OpMkdir: "mkdir", OpRemove: "remove", OpRename: "rename", OpSymlink: "symlink", OpLink: "link",
		OpReadlink: "readlink", OpChmod: "chmod", OpChown: "chown", OpTruncate: "truncate", OpSetTimes: "set times",
		OpListXattr: "list attributes", OpGetXattr: "get attribute", OpSetXattr: "set attribute", OpRemoveXattr: "remove attribute",
		OpSync: "sync", OpCopyIn: "copy in", OpCopyOut: "copy out", OpRun: "run", OpConnect: "connect", OpRelease: "release",
		OpWalk: "walk", OpGlance: "glance at", OpResize: "resize the terminal", OpTrim: "trim", OpReread: "read the partitions of",
	}
	if int(o) < len(names) && names[o] != "" {
		return names[o]
	}
	return "operation " + strconv.Itoa(int(o))
}

// Streams of a request.
const (
	StreamIn  = 0 // to the guest: what a file shall hold, a program's input
	StreamOut = 1 // from the guest: what a file or folder holds, a program's output
	StreamErr = 2 // from the guest: a program's diagnostics
	streams   = 3
)
