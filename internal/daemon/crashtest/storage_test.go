package crashtest

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"taproom/internal/api/client"
	"taproom/internal/api/remote"
	"taproom/internal/api/virterr"
	"taproom/internal/api/xdr"
)

// pool is the storage pool of the test. Its folder outlives the daemons.
var pool = remote.Network{Name: "pool", UUID: mustUUID("3c1e6f0a-52d8-4b7e-9a41-6d0f5c2b7e11")}

func (w *world) images() string { return filepath.Join(w.Root, "images") }

func (w *world) poolXML() string {
	return fmt.Sprintf("<pool type='dir'><name>%s</name><uuid>%s</uuid><target><path>%s</path></target></pool>", pool.Name, pool.UUID, w.images())
}

// volumes are what is made, in this order; the second is a copy of the first.
var volumes = []struct {
	xml  string
	size int64 // of the file
}{
	{"<volume><name>first</name><capacity>100000</capacity></volume>", 100000},
	{"<volume><name>second</name><capacity>100000</capacity></volume>", 100000},
	{"<volume><name>third</name><capacity unit='MiB'>64</capacity><target><format type='qcow2'/></target></volume>", 4 << 16},
}

// keepVolumes is the life of a pool and its volumes.
func keepVolumes(w *world, c *client.Client) error {
	call := func(procedure uint32, args, ret xdr.Value) func() error {
		return func() error { return broken(c.Call(w.t.Context(), remote.ProgramRemote, procedure, args, ret)) }
	}
	one := remote.NetworkFlags{Network: pool}
	first := remote.Volume{Pool: pool.Name, Name: "first", Key: filepath.Join(w.images(), "first")}
	for _, next := range []func() error{
		call(remote.ProcStoragePoolDefineXML, &remote.StringFlags{S: w.poolXML()}, &remote.Network{}),
		call(remote.ProcStoragePoolBuild, &one, &xdr.Void{}),
		call(remote.ProcStoragePoolCreate, &one, &xdr.Void{}),
		call(remote.ProcStoragePoolSetAutostart, &remote.NetworkInt{Network: pool, N: 1}, &xdr.Void{}),
		call(remote.ProcStorageVolCreateXML, &remote.PoolStringFlags{Network: pool, S: volumes[0].xml}, &remote.Volume{}),
		call(remote.ProcStorageVolCreateXMLFrom, &remote.VolumeFrom{Network: pool, S: volumes[1].xml, From: first}, &remote.Volume{}),
		call(remote.ProcStorageVolCreateXML, &remote.PoolStringFlags{Network: pool, S: volumes[2].xml}, &remote.Volume{}),
		call(remote.ProcStorageVolDelete, &remote.VolumeFlags{Volume: first}, &xdr.Void{}),
		call(remote.ProcStoragePoolDestroy, &pool, &xdr.Void{}),
		call(remote.ProcStoragePoolUndefine, &pool, &xdr.Void{}),
	} {
		if err := next(); err != nil {
			return err
		}
	}
	return nil
}

// stored looks at what a daemon that was killed left, with one that is not: every volume is whole or not there.
func stored(w *world) error {
	return w.serve(func(c *client.Client) error {
		call := func(procedure uint32, args, ret xdr.Value) error {
			return c.Call(w.t.Context(), remote.ProgramRemote, procedure, args, ret)
		}
		one := remote.NetworkFlags{Network: pool}
		err := call(remote.ProcStoragePoolDefineXML, &remote.StringFlags{S: w.poolXML()}, &remote.Network{})
		if err != nil {
			return fmt.Errorf("define it again: %w", err)
		}
		if err := os.MkdirAll(w.images(), 0o700); err != nil {
			return err
		}
		err = call(remote.ProcStoragePoolCreate, &one, &xdr.Void{})
		if err != nil && virterr.CodeOf(err) != virterr.OperationInvalid { // it is active
			return fmt.Errorf("start it again: %w", err)
		}
		entries, err := os.ReadDir(w.images())
		if err != nil {
			return err
		}
		for i, e := range entries {
			info, err := e.Info()
			if err != nil {
				return err
			}
			whole := false
			for _, v := range volumes {
				whole = whole || strings.Contains(v.xml, ">"+e.Name()+"<") && info.Size() == v.size
			}
			if !whole {
				return fmt.Errorf("entry %d of the folder is %s with %d bytes", i, e.Name(), info.Size())
			}
		}
		return errors.Join(call(remote.ProcStoragePoolDestroy, &pool, &xdr.Void{}), call(remote.ProcStoragePoolUndefine, &pool, &xdr.Void{}))
	})
}

// TestADaemonKilledWhileItKeepsStorageLeavesWholeVolumes ends it at every call of a pool's life.
func TestADaemonKilledWhileItKeepsStorageLeavesWholeVolumes(t *testing.T) {
	t.Parallel()
	everyCall(t, trial{
		world:  func(t *testing.T) *world { return newWorld(t) },
		before: func(w *world) error { return errors.Join(w.wipe(), os.RemoveAll(w.images())) },
		drive:  keepVolumes,
		after:  stored,
	})
}
