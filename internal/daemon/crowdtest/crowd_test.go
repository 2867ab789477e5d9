package crowdtest

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"

	"taproom/internal/api/client"
	"taproom/internal/daemon/daemontest"
	"taproom/internal/spec"
)

func TestMain(m *testing.M) { daemontest.Main(m) }

const (
	clients = 8
	guests  = 100
)

const document = `<domain type='qemu'><name>crowd-%03d</name><memory unit='MiB'>16</memory><vcpu>1</vcpu>
  <os><type arch='x86_64' machine='pc'>hvm</type></os>
  <devices><controller type='usb' model='none'/><memballoon model='none'/>
    <interface type='bridge'><source bridge='crowdbr'/><model type='virtio'/></interface>
    <graphics type='vnc' autoport='yes' listen='127.0.0.1'/></devices></domain>`

// crowd is several clients that do the same to guests of their own at the same time.
type crowd struct {
	t       *testing.T
	clients []*client.Client
}

// each calls do for every guest; the guests are dealt out to the clients.
func (c *crowd) each(what string, do func(ctx context.Context, c *client.Client, guest int) error) {
	c.t.Helper()
	var wg sync.WaitGroup
	errs := make([]error, guests)
	for n, mine := range c.clients {
		wg.Go(func() {
			for guest := n; guest < guests; guest += len(c.clients) {
				errs[guest] = do(c.t.Context(), mine, guest)
			}
		})
	}
	wg.Wait()
	if err := errors.Join(errs...); err != nil {
		c.t.Fatalf("%s: %v", what, err)
	}
}

func name(guest int) string { return fmt.Sprintf("crowd-%03d", guest) }

func TestAHundredGuestsOfEightClientsAtOnceAllStartAndShareNothing(t *testing.T) {
	d := daemontest.New(t)
	d.NS.Run("ip", "link", "add", "crowdbr", "type", "bridge")
	c := &crowd{t: t}
	for range clients {
		c.clients = append(c.clients, d.Client())
	}
	live := make([]string, guests)
	const paused = 1
	c.each("define and start", func(ctx context.Context, c *client.Client, guest int) error {
		dom, err := c.DefineDomain(ctx, fmt.Sprintf(document, guest))
		if err != nil {
			return err
		}
		if dom, err = c.StartDomain(ctx, dom, paused); err != nil {
			return err
		}
		live[guest], err = c.DomainXML(ctx, dom, 0)
		return err
	})
	holders := map[string]string{}
	for guest, xml := range live {
		for _, what := range takenBy(t, xml) {
			if other, taken := holders[what]; taken {
				t.Errorf("%s and %s both have %s", other, name(guest), what)
			}
			holders[what] = name(guest)
		}
	}
	if want := 5 * guests; len(holders) != want {
		t.Errorf("%d names and numbers are in use, want %d", len(holders), want)
	}
	if ports := strings.Count(d.NS.Run("ip", "-o", "link", "show", "master", "crowdbr"), "\n"); ports != guests {
		t.Errorf("%d ports are on the bridge, want %d", ports, guests)
	}
	c.each("stop and undefine", func(ctx context.Context, c *client.Client, guest int) error {
		dom, err := c.Domain(ctx, name(guest))
		if err != nil {
			return err
		}
		return errors.Join(c.DestroyDomain(ctx, dom), c.UndefineDomain(ctx, dom, 0))
	})
	d.NS.Run("ip", "link", "del", "crowdbr")
	if left := d.Leftovers(); left != nil {
		t.Errorf("left: %v", left)
	}
}

// takenBy is what a running guest has to itself: its number, UUID, tap, MAC and display.
func takenBy(t *testing.T, xml string) []string {
	t.Helper()
	doc, err := spec.ParseDomain([]byte(xml))
	if err != nil {
		t.Fatalf("%v:\n%s", err, xml)
	}
	if doc.UUID == nil || len(doc.Devices.Interfaces) != 1 || len(doc.Devices.Graphics) != 1 {
		t.Fatalf("a guest lacks its UUID, NIC or display:\n%s", xml)
	}
	nic := doc.Devices.Interfaces[0]
	if nic.Target == nil || nic.MAC == nil {
		t.Fatalf("a running guest's NIC has no tap or no MAC:\n%s", xml)
	}
	return []string{
		"id " + doc.ID, "uuid " + doc.UUID.String(), "tap " + nic.Target.Dev, "MAC " + nic.MAC.Address,
		"port " + doc.Devices.Graphics[0].Port,
	}
}
