package crashtest

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"taproom/internal/api/client"
	"taproom/internal/engine/store"
)

// TestAGuestIsTakenOverThatTheNextDaemonWouldNotStart has a document among what runs that this version cannot compile, as
// after an upgrade that refuses more, or a downgrade.
func TestAGuestIsTakenOverThatTheNextDaemonWouldNotStart(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	guest := newDomain(1, nil, w.disk(1, nil))
	w.objects = []*object{guest}
	err := w.serve(func(c *client.Client) error {
		return errors.Join(w.do(c, define(guest)), w.do(c, start(guest)))
	})
	if err == nil {
		err = w.rewriteRecord(guest, "type='raw'", "type='vmdk'")
	}
	if err != nil {
		t.Fatal(err)
	}
	err = w.serve(func(c *client.Client) error {
		if err := errors.Join(w.verify(c), w.do(c, suspend(guest))); err != nil {
			return err
		}
		return w.again(c)
	})
	if err != nil {
		t.Error(err)
	}
}

// rewriteRecord changes the document that a guest was started from, while no daemon is there.
func (w *world) rewriteRecord(o *object, from, to string) error {
	records, err := store.Open[json.RawMessage](w.k, w.Paths().Records(), false)
	if err != nil {
		return err
	}
	items, _, err := records.Load()
	if err != nil {
		return err
	}
	for _, i := range items {
		if i.Key == o.uuid.String() && bytes.Contains(i.Doc, []byte(from)) {
			i.Doc = bytes.ReplaceAll(i.Doc, []byte(from), []byte(to))
			return records.Put(i)
		}
	}
	return fmt.Errorf("no record of %s says %s", o.name, from)
}

// TestAGuestWhoseMonitorCannotBeReachedIsLeftAlone has the name of the monitor's socket away when a daemon starts. That
// daemon talks to the guest as soon as it can.
func TestAGuestWhoseMonitorCannotBeReachedIsLeftAlone(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	guest := newDomain(1, nil, w.disk(1, nil))
	w.objects = []*object{guest}
	err := w.serve(func(c *client.Client) error {
		return errors.Join(w.do(c, define(guest)), w.do(c, start(guest)))
	})
	socket := filepath.Join(w.Paths().Guest(guest.uuid.String()), "qmp.sock")
	if err == nil {
		err = os.Rename(socket, socket+".away")
	}
	if err != nil {
		t.Fatal(err)
	}
	err = w.serve(func(c *client.Client) error {
		if err := errors.Join(w.verify(c), os.Rename(socket+".away", socket)); err != nil {
			return err
		}
		if err := errors.Join(w.do(c, suspend(guest)), w.verify(c)); err != nil {
			return err
		}
		return w.again(c)
	})
	if err != nil {
		t.Error(err)
	}
}
