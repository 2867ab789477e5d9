package crashtest

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"taproom/internal/api/client"
	"taproom/internal/api/remote"
	"taproom/internal/api/xdr"
	"taproom/internal/qemu/emutest"
)

const (
	newName = "renamed"
	said    = "said of it"
)

// TestADaemonKilledWhileItRenamesHasTheOldNameOrTheNewOne ends it at every call while a domain is described and renamed.
func TestADaemonKilledWhileItRenamesHasTheOldNameOrTheNewOne(t *testing.T) {
	t.Parallel()
	everyCall(t, trial{
		world: func(t *testing.T) *world {
			w := newWorld(t)
			w.objects = append(w.objects, newDomain(1, nil, w.disk(1, nil)))
			return w
		},
		before: func(w *world) error {
			if err := w.wipe(); err != nil {
				return err
			}
			logs := filepath.Join(w.Root, "var/lib/taproom/log")
			if err := os.MkdirAll(logs, 0o755); err != nil {
				return err
			}
			return os.WriteFile(filepath.Join(logs, "guest1.log"), []byte("what it said"), 0o600)
		},
		drive: func(w *world, c *client.Client) error {
			o := w.objects[0]
			ctx, cancel := emutest.Context(w.t.Context())
			defer cancel()
			d, err := c.DefineDomain(ctx, o.xml)
			if err == nil {
				err = describe(ctx, c, d)
			}
			if err == nil {
				err = rename(ctx, c, d, newName)
			}
			return broken(err)
		},
		after: func(w *world) error { return w.serve(w.named) },
	})
}

func describe(ctx context.Context, c *client.Client, d remote.Domain) error {
	return c.Call(ctx, remote.ProgramRemote, remote.ProcDomainSetMetadata,
		&remote.DomainSetMetadata{Domain: d, SetMetadata: remote.SetMetadata{Metadata: remote.Opt(said)}}, &xdr.Void{})
}

func rename(ctx context.Context, c *client.Client, d remote.Domain, name string) error {
	return c.Call(ctx, remote.ProgramRemote, remote.ProcDomainRename, &remote.DomainOptStringFlags{Domain: d, S: remote.Opt(name)}, &remote.Int{})
}

// named checks what there is of the domain, and that it can be renamed and removed.
func (w *world) named(c *client.Client) error {
	o := w.objects[0]
	ctx, cancel := emutest.Context(w.t.Context())
	defer cancel()
	all, err := c.Domains(ctx, 0)
	if err != nil || len(all) == 0 { // it was not defined yet
		return err
	}
	d := all[0]
	if len(all) != 1 || d.UUID != o.uuid || d.Name != o.name && d.Name != newName {
		return fmt.Errorf("there are %v", all)
	}
	xml, err := c.DomainXML(ctx, d, 0)
	switch {
	case err != nil:
		return err
	case !strings.Contains(xml, "<name>"+d.Name+"</name>"):
		return fmt.Errorf("domain %s has the document of another: %s", d.Name, xml)
	case d.Name == newName && !strings.Contains(xml, said):
		return fmt.Errorf("what was said of the domain before it was renamed is lost: %s", xml)
	}
	logs, err := filepath.Glob(filepath.Join(w.Root, "var/lib/taproom/log/*.log"))
	if err != nil || len(logs) != 1 {
		return fmt.Errorf("logs are %v (%w)", logs, err)
	}
	if err := errors.Join(rename(ctx, c, d, "another"), describe(ctx, c, d), rename(ctx, c, d, o.name)); err != nil {
		return err
	}
	if log := filepath.Join(w.Root, "var/lib/taproom/log", o.name+".log"); d.Name == newName {
		if b, err := os.ReadFile(log); err != nil || string(b) != "what it said" {
			return fmt.Errorf("the log did not follow: %q (%w)", b, err)
		}
	}
	if err := c.UndefineDomain(ctx, d, 0); err != nil {
		return err
	}
	if left := w.Leftovers(); len(left) > 0 {
		return fmt.Errorf("left behind:\n  %s", strings.Join(left, "\n  "))
	}
	return nil
}
