package badinput

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"taproom/internal/api/client"
	"taproom/internal/api/own"
	"taproom/internal/api/remote"
	"taproom/internal/api/virterr"
	"taproom/internal/api/xdr"
	"taproom/internal/daemon/daemontest"
	"taproom/internal/qemu/emutest"
)

// world is a daemon with a guest and a network that are well, beside which bad things are done.
type world struct {
	*daemontest.Daemon
	t *testing.T
	c *client.Client
}

// settings leave room for the daemon's own three users and three guests: who gives nothing back soon has nothing left.
const settings = "uid_count = 6\nvnc_port_first = 5900\nvnc_port_last = 5903\n"

// newWorld starts a daemon, and "well" on the network "quiet".
func newWorld(t *testing.T, more ...string) *world {
	t.Helper()
	w := &world{Daemon: daemontest.Prepare(t), t: t}
	w.put("etc/taproom/taproomd.toml", settings+strings.Join(more, "\n"))
	w.settle()
	return w
}

// settle starts the daemon of a world, and what is well in it.
func (w *world) settle(o ...daemontest.Option) {
	w.t.Helper()
	if err := w.Start(o...); err != nil {
		w.t.Fatal(err)
	}
	w.c = w.Client()
	w.apply(network("quiet", "virbr-quiet", "192.168.91"), guest("well", nic("quiet")+vnc))
	w.t.Cleanup(w.end)
}

// end stops what is well, and fails the test when anything is left then.
func (w *world) end() {
	if !w.Alive() {
		w.t.Errorf("the daemon has ended: %s", w.Said())
		return
	}
	c, err := w.Dial()
	if err != nil {
		w.t.Errorf("connect at the end: %v", err)
		return
	}
	defer c.Close()
	r := request(network("quiet", "virbr-quiet", "192.168.91"), guest("well", ""))
	r.Remove = true
	if res, err := c.Apply(context.Background(), r); err != nil {
		w.t.Errorf("take everything down: %+v, %v", res, err)
	}
	for _, left := range w.Leftovers() {
		w.t.Errorf("left at the end: %s", left)
	}
	if w.t.Failed() {
		w.t.Logf("the daemon said: %s", w.Said())
	}
}

// put writes a file below the root.
func (w *world) put(name, text string) string {
	w.t.Helper()
	path := filepath.Join(w.Root, name)
	if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(text), 0o644)); err != nil {
		w.t.Fatal(err)
	}
	return path
}

// apply makes documents exist and run.
func (w *world) apply(docs ...string) {
	w.t.Helper()
	r, err := w.c.Apply(w.t.Context(), request(docs...))
	if err != nil {
		w.t.Fatalf("apply: %v: %s", err, w.Said())
	}
	for _, o := range r.Objects {
		if o.Error != "" {
			w.t.Fatalf("apply: %s: %s", o.Error, w.Said())
		}
	}
}

func request(docs ...string) own.ApplyRequest {
	var r own.ApplyRequest
	for i, d := range docs {
		r.Documents = append(r.Documents, own.Document{Name: fmt.Sprintf("document %d", i+1), XML: d})
	}
	return r
}

// call makes a call of libvirt's program.
func (w *world) call(procedure uint32, args, ret xdr.Value) error {
	return w.c.Call(w.t.Context(), remote.ProgramRemote, procedure, args, ret)
}

// define stores a domain.
func (w *world) define(doc string) error {
	_, err := w.c.DefineDomain(w.t.Context(), doc)
	return err
}

// create starts a domain without storing it.
func (w *world) create(doc string) error {
	return w.call(remote.ProcDomainCreateXML, &remote.StringFlags{S: doc}, &remote.Domain{})
}

// start defines a domain, starts it, and takes the definition back whatever came of it.
func (w *world) start(doc string) error {
	d, err := w.c.DefineDomain(w.t.Context(), doc)
	if err != nil {
		return fmt.Errorf("define: %w", err)
	}
	_, err = w.c.StartDomain(w.t.Context(), d, 0)
	if err == nil {
		err = w.c.DestroyDomain(w.t.Context(), d)
		if err != nil {
			return fmt.Errorf("it started, and cannot be destroyed: %w", err)
		}
	}
	if uerr := w.c.UndefineDomain(w.t.Context(), d, 0); uerr != nil {
		return fmt.Errorf("undefine: %w", uerr)
	}
	return err
}

// defineNetwork stores a network.
func (w *world) defineNetwork(doc string) error {
	return w.call(remote.ProcNetworkDefineXML, &remote.String{S: doc}, &remote.Network{})
}

// startNetwork defines a network, starts it, and takes the definition back.
func (w *world) startNetwork(doc string) error {
	var n remote.Network
	if err := w.call(remote.ProcNetworkDefineXML, &remote.String{S: doc}, &n); err != nil {
		return fmt.Errorf("define: %w", err)
	}
	err := w.call(remote.ProcNetworkCreate, &n, &xdr.Void{})
	if uerr := w.call(remote.ProcNetworkUndefine, &n, &xdr.Void{}); uerr != nil {
		return fmt.Errorf("undefine: %w", uerr)
	}
	return err
}

// bad is something that must be refused, and what is said then.
type bad struct {
	name string
	do   func() error
	code virterr.Code
	want string
}

// refuse does each bad thing, compares all that is said, and fails when anything else than the answer came of it.
func (w *world) refuse(t *testing.T, things ...bad) {
	t.Helper()
	for _, b := range things {
		t.Run(b.name, func(t *testing.T) {
			before := w.state()
			err := b.do()
			w.answer(t, err, b.code, b.want)
			w.unchanged(t, before)
		})
	}
}

// answer compares an error with what should have been said.
func (w *world) answer(t *testing.T, err error, code virterr.Code, want string) {
	t.Helper()
	if err == nil {
		t.Error("it was accepted")
		return
	}
	got := w.plain(err.Error())
	if got != want || virterr.CodeOf(err) != code {
		t.Errorf("got code %d: %s\nwant code %d: %s\n%q", virterr.CodeOf(err), got, code, want, got)
	}
}

// plain is a message without what differs from run to run.
func (w *world) plain(s string) string {
	for _, r := range []struct{ from, to string }{
		{regexp.QuoteMeta(w.Root), "ROOT"},
		{regexp.QuoteMeta(doubles()), "DOUBLES"},
		{`[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}`, "UUID"},
		{`\d{4}-\d\d-\d\dT[\d:.]+Z`, "TIME"},
		{`probe-\d+-\d+`, "probe-N"},
		{`process \d+`, "process PID"},
		{`pid \d+`, "pid PID"},
		{`group \d{7,}`, "group N"},
		{`user \d{7,}`, "user UID"},
		{`user numbers \d+ to \d+`, "user numbers A to B"},
		{`52:54:00(:[0-9a-f]{2}){3}`, "MAC"},
	} {
		s = regexp.MustCompile(r.from).ReplaceAllString(s, r.to)
	}
	return s
}

// unchanged compares everything with what it was, and asks the daemon what it would do.
func (w *world) unchanged(t *testing.T, before string) {
	t.Helper()
	again := time.NewTicker(50 * time.Millisecond)
	defer again.Stop()
	late, cancel := emutest.Context(context.WithoutCancel(t.Context()))
	defer cancel()
	for ; ; <-again.C { // it may still be writing a file, or clearing away
		d := cmp.Diff(strings.Split(before, "\n"), strings.Split(w.state(), "\n"))
		if d == "" {
			break
		}
		if late.Err() != nil {
			t.Errorf("something changed (-before +after):\n%s\nthe daemon said: %s", d, w.Said())
			break
		}
	}
	p, err := w.c.Plan(t.Context())
	if err != nil || len(p.Steps) > 0 {
		t.Errorf("the daemon would do %v, %v", p.Steps, err)
	}
}
