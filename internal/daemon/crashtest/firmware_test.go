package crashtest

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"taproom/internal/api/client"
)

// withFirmware gives a guest UEFI, displays on sockets and ports, and the agents' channels.
func withFirmware(o *object) *object {
	o.xml = strings.Replace(o.xml, "<os>", "<os firmware='efi'>", 1)
	return o
}

const displays = `<graphics type='vnc' passwd='secret' websocket='-1'/>
    <graphics type='spice'><listen type='socket'/></graphics>
    <channel type='spicevmc'><target type='virtio'/></channel>
    <sound model='ac97'/>
    <video><model type='vga'/></video>`

// strays are files beside the variables of those guests that are defined.
func (w *world) strays() error {
	entries, err := os.ReadDir(w.Paths().NVRAM())
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	for _, e := range entries {
		guest := w.objects[0]
		whole := e.Name() == guest.name+"_VARS.fd"
		if info, err := e.Info(); !whole || err != nil || info.Size() != 540672 {
			return fmt.Errorf("%s is there, of %v bytes (%w)", filepath.Join(w.Paths().NVRAM(), e.Name()), info, err)
		}
		if guest.defined == no && guest.active == no {
			return fmt.Errorf("%s is there, and its guest is not", e.Name())
		}
	}
	return nil
}

// TestADaemonKilledWithAGuestsFirmwareAndDisplaysLeavesNothing: variables are whole or not there, ports and folders go.
func TestADaemonKilledWithAGuestsFirmwareAndDisplaysLeavesNothing(t *testing.T) {
	t.Parallel()
	everyCall(t, trial{
		stride: 3,
		world: func(t *testing.T) *world {
			w := newWorld(t)
			w.objects = append(w.objects, withFirmware(newDomain(1, nil, w.disk(1, nil), "", displays)))
			return w
		},
		before: (*world).wipe,
		drive: func(w *world, c *client.Client) error {
			guest := w.objects[0]
			for _, next := range []func() step{
				func() step { return define(guest) },
				func() step { return startPaused(guest) },
				func() step { return destroy(guest) },
				func() step { return startPaused(guest) },
				func() step { return destroy(guest) },
				func() step { return undefine(guest) },
			} {
				if err := w.do(c, next()); err != nil {
					return err
				}
			}
			return nil
		},
		after: func(w *world) error {
			return w.serve(func(c *client.Client) error { return errors.Join(w.verify(c), w.strays(), w.away(c)) })
		},
	})
}
