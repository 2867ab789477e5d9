package badinput

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"taproom/internal/api/remote"
	"taproom/internal/api/server"
	"taproom/internal/api/virterr"
	"taproom/internal/api/xdr"
	"taproom/internal/daemon/daemontest"
)

// smallWorld is a world part of whose files lie on a small file system of their own.
func smallWorld(t *testing.T, dirs ...string) *world {
	t.Helper()
	w := &world{Daemon: daemontest.Prepare(t), t: t}
	for _, dir := range dirs {
		path := filepath.Join(w.Root, dir)
		must(t, os.MkdirAll(path, 0o755))
		w.NS.Shell("mount -t tmpfs -o size=256k,mode=755 none " + path)
	}
	w.settle()
	return w
}

// fill leaves no room on a small file system, and returns what makes room again.
func (w *world) fill(dir string) (free func()) {
	w.t.Helper()
	ballast := filepath.Join(w.Root, dir, "ballast")
	w.NS.Do(func() {
		f, err := os.Create(ballast)
		if err != nil {
			w.t.Error(err)
			return
		}
		defer f.Close()
		for err == nil { // until there is no page left
			_, err = f.Write(make([]byte, 4096))
		}
	})
	return func() { w.NS.Run("rm", ballast) }
}

func TestAFullDiskKeepsDefinitionsAsTheyWere(t *testing.T) {
	t.Parallel()
	w := smallWorld(t, "var/lib/taproom")
	well, err := w.c.Domain(t.Context(), "well")
	must(t, err)
	quiet, err := w.c.Network(t.Context(), "quiet")
	must(t, err)
	changed := strings.Replace(guest("well", nic("quiet")+vnc), "<memory", "<uuid>"+uuidText(well.UUID)+"</uuid><memory", 1)
	changed = strings.Replace(changed, ">16<", ">17<", 1)
	host := "<host mac='52:54:00:00:00:77' name='new' ip='192.168.91.77'/>"
	const addHost = 3
	update := remote.NetworkUpdate{Network: quiet, Command: addHost, Section: 4, ParentIndex: -1, XML: host}
	full := []bad{
		{"new domain", func() error { return w.define(guest("broken", "")) }, virterr.SystemError, "cannot save the definition of domain 'broken': write ROOT/var/lib/taproom/domains/UUID.state: no space left on device; make room on that file system"},
		{"changed domain", func() error { return w.define(changed) }, virterr.SystemError, "cannot save the definition of domain 'well': write ROOT/var/lib/taproom/domains/UUID.state: no space left on device; make room on that file system"},
		{"autostart", func() error {
			return w.call(remote.ProcDomainSetAutostart, &remote.DomainInt{Domain: well, N: 1}, &xdr.Void{})
		}, virterr.SystemError, "cannot save the definition of domain 'well': write ROOT/var/lib/taproom/domains/UUID.state: no space left on device; make room on that file system"},
		{"new network", func() error { return w.defineNetwork(network("broken", "virbr-broken", "192.168.95")) }, virterr.SystemError, "cannot save the definition of network 'broken': write ROOT/var/lib/taproom/networks/UUID.state: no space left on device; make room on that file system"},
		{"changed network", func() error {
			update.Flags = 2 // VIR_NETWORK_UPDATE_AFFECT_CONFIG
			return w.call(remote.ProcNetworkUpdate, &update, &xdr.Void{})
		}, virterr.SystemError, "cannot save the definition of network 'quiet': write ROOT/var/lib/taproom/networks/UUID.state: no space left on device; make room on that file system"},
		{"network's autostart", func() error {
			return w.call(remote.ProcNetworkSetAutostart, &remote.NetworkInt{Network: quiet, N: 1}, &xdr.Void{})
		}, virterr.SystemError, "cannot save the definition of network 'quiet': write ROOT/var/lib/taproom/networks/UUID.state: no space left on device; make room on that file system"},
	}
	free := w.fill("var/lib/taproom")
	w.refuse(t, full...)
	t.Run("start again", func(t *testing.T) {
		before := w.state()
		must(t, w.Stop())
		must(t, w.Start())
		w.c = w.Client()
		w.unchanged(t, before)
	})
	t.Run("what runs can be stopped and started", func(t *testing.T) {
		must(t, w.c.DestroyDomain(t.Context(), well))
		_, err := w.c.StartDomain(t.Context(), well, 0)
		must(t, err)
	})
	free()
	for _, b := range full {
		if err := b.do(); err != nil {
			t.Errorf("%s, with room: %v", b.name, err)
		}
	}
	d, err := w.c.Domain(t.Context(), "broken")
	must(t, err)
	must(t, w.c.UndefineDomain(t.Context(), d, 0))
	w.undefineNetwork("broken")
}

func TestAFullRunDirectoryStartsNothingAndStopsEverything(t *testing.T) {
	t.Parallel()
	w := smallWorld(t, "run/taproom/records", "run/taproom/networks")
	must(t, w.create(guest("transient", "")))
	must(t, w.defineNetwork(network("broken", "virbr-broken", "192.168.95")))
	broken, err := w.c.Network(t.Context(), "broken")
	must(t, err)
	freeRecords, freeNetworks := w.fill("run/taproom/records"), w.fill("run/taproom/networks")
	w.refuse(t, []bad{
		{"start of a domain", func() error { return w.start(guest("broken", nic("quiet")+vnc)) }, virterr.SystemError, "cannot start domain 'broken': write ROOT/run/taproom/records/UUID.state: no space left on device; make room on that file system"},
		{"start of a network", func() error { return w.call(remote.ProcNetworkCreate, &broken, &xdr.Void{}) }, virterr.OperationFailed, "operation failed: cannot start network 'broken': write ROOT/run/taproom/networks/UUID.state: no space left on device; make room on that file system"},
	}...)
	t.Run("start again", func(t *testing.T) {
		before := w.state()
		must(t, w.Stop())
		must(t, w.Start())
		w.c = w.Client()
		w.unchanged(t, before)
	})
	d, err := w.c.Domain(t.Context(), "transient")
	must(t, err)
	must(t, w.c.DestroyDomain(t.Context(), d))
	freeRecords()
	freeNetworks()
	must(t, w.start(guest("broken", nic("quiet")+vnc)))
	must(t, w.call(remote.ProcNetworkCreate, &broken, &xdr.Void{}))
	must(t, w.call(remote.ProcNetworkDestroy, &broken, &xdr.Void{}))
	w.undefineNetwork("broken")
}

func TestAGuestThatRunsIsNotEndedBecauseThatCannotBeWrittenDown(t *testing.T) {
	t.Parallel()
	w := smallWorld(t, "run/taproom/records")
	d, err := w.c.DefineDomain(t.Context(), guest("broken", nic("quiet")+vnc))
	must(t, err)
	before := w.state()
	_, err = w.c.StartDomain(t.Context(), d, 0)
	must(t, err)
	var size int64
	w.NS.Do(func() {
		st, err := os.Stat(w.stateFile("run/taproom/records", d.UUID))
		if err == nil {
			size = st.Size()
		}
	})
	must(t, w.c.DestroyDomain(t.Context(), d))
	free := w.fill("run/taproom/records")
	// Room for one record, which is replaced by writing another one beside it.
	w.NS.Run("truncate", "-s", fmt.Sprintf("-%d", (size+4095)/4096*4096), filepath.Join(w.Root, "run/taproom/records/ballast"))
	_, err = w.c.StartDomain(t.Context(), d, 0)
	must(t, err)
	s, err := w.c.Status(t.Context())
	want := "domain 'broken' runs, and that cannot be written down: write ROOT/run/taproom/records/UUID.state: no space left on device; it is tried again"
	if err != nil || len(s.Problems) != 1 || w.plain(s.Problems[0]) != want {
		t.Errorf("problems %q, %v, want %q", s.Problems, err, want)
	}
	free()
	got := w.restart(t, func() {})
	if state, err := w.c.DomainState(t.Context(), d); err != nil || state.State != server.DomainRunning || len(got) > 0 {
		t.Errorf("after the daemon was started again: %+v, %v, problems %q", state, err, got)
	}
	must(t, w.c.DestroyDomain(t.Context(), d))
	w.unchanged(t, before)
	must(t, w.c.UndefineDomain(t.Context(), d, 0))
}
