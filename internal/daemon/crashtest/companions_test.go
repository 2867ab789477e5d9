package crashtest

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"taproom/internal/api/client"
)

// served is a guest with a folder of the host, and with a TPM.
func served(w *world, dir string) *object {
	o := newDomain(1, nil, w.disk(1, nil), "<memoryBacking><source type='memfd'/><access mode='shared'/></memoryBacking>",
		"<filesystem type='mount'><driver type='virtiofs'/><source dir='"+dir+"'/><target dir='share'/></filesystem>"+
			"<tpm model='tpm-crb'><backend type='emulator' version='2.0'/></tpm>")
	o.beside = 3 // swtpm, and the two processes that virtiofsd is
	return o
}

// TestADaemonKilledBesideAGuestsProgramsLeavesNoneOfThem ends it at every call while a guest lives that swtpm and virtiofsd
// serve. Making a TPM takes a second; so the state is there already, but for TAPROOM_LONG=1.
func TestADaemonKilledBesideAGuestsProgramsLeavesNoneOfThem(t *testing.T) {
	t.Parallel()
	kept := t.TempDir()
	if !long() {
		w := newWorld(t)
		o := served(w, w.Root)
		w.objects = append(w.objects, o)
		err := w.serve(func(c *client.Client) error {
			err := errors.Join(w.do(c, define(o)), w.do(c, startPaused(o)), w.do(c, destroy(o)))
			return errors.Join(err, os.CopyFS(kept, os.DirFS(tpms(w))), w.do(c, undefine(o)))
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	everyCall(t, trial{
		world: func(t *testing.T) *world {
			w := newWorld(t)
			w.objects = append(w.objects, served(w, w.Root))
			return w
		},
		before: func(w *world) error { return errors.Join(w.wipe(), os.CopyFS(tpms(w), os.DirFS(kept))) },
		drive: func(w *world, c *client.Client) error {
			o := w.objects[0]
			for _, next := range []func(*object) step{define, startPaused, resume, destroy, undefine} {
				if err := w.do(c, next(o)); err != nil {
					return err
				}
			}
			return nil
		},
		after: func(w *world) error {
			return w.serve(func(c *client.Client) error {
				return errors.Join(w.verify(c), w.away(c), w.noTPM())
			})
		},
	})
}

func tpms(w *world) string { return filepath.Join(w.Root, "var/lib/taproom/swtpm") }

// noTPM checks that state of TPMs went with the definition, unless that was never there.
func (w *world) noTPM() error {
	entries, err := os.ReadDir(tpms(w))
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	for _, entry := range entries {
		if entry.Name() != w.objects[0].uuid.String() {
			return fmt.Errorf("%s is left of a TPM", entry.Name())
		}
	}
	return err
}
