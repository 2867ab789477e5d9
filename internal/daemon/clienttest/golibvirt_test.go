package clienttest

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	golibvirt "github.com/digitalocean/go-libvirt"
	"github.com/digitalocean/go-libvirt/socket/dialers"

	"taproom/internal/api/virterr"
	"taproom/internal/qemu/emutest"
)

// goClient is a connection of go-libvirt, which encodes libvirt's protocol by itself: Terraform's provider and exporters are
// built on it.
func (c *clients) goClient() *golibvirt.Libvirt {
	c.t.Helper()
	l := golibvirt.NewWithDialer(dialers.NewLocal(dialers.WithSocket(c.daemon.Socket())))
	if err := l.Connect(); err != nil {
		c.t.Fatalf("go-libvirt: connect: %v", err)
	}
	c.t.Cleanup(func() { _ = l.Disconnect() })
	return l
}

// requireOK fails the test unless a call of go-libvirt succeeded.
func (c *clients) requireOK(what string, err error) {
	c.t.Helper()
	if err != nil {
		c.t.Fatalf("go-libvirt: %s: %v\nthe daemon said: %s", what, err, c.daemon.Said())
	}
}

const goGuest = `<domain type='qemu'><name>go</name><memory unit='MiB'>16</memory><vcpu>1</vcpu>
  <os><type arch='x86_64' machine='pc'>hvm</type></os><devices>
  <disk type='file' device='disk'><driver name='qemu' type='raw'/><source file='ROOT/work/disk.img'/><target dev='vda' bus='virtio'/></disk>
  <interface type='network'><source network='crowd'/><model type='virtio'/></interface></devices></domain>`

func TestGoLibvirt_DefinesStartsWatchesAndDestroysAGuest(t *testing.T) {
	t.Parallel()
	c := serve(t)
	l := c.goClient()
	version, err := l.ConnectGetLibVersion()
	c.requireOK("version", err)
	if version < 1_000_000 {
		t.Errorf("version %d", version)
	}
	network, err := l.NetworkCreateXML(crowdNetwork)
	c.requireOK("create a network", err)

	watching, stop := context.WithCancel(t.Context())
	events, err := l.LifecycleEvents(watching)
	c.requireOK("ask for events", err)
	dom, err := l.DomainDefineXMLFlags(c.fill(goGuest), golibvirt.DomainDefineValidate)
	c.requireOK("define", err)
	c.requireOK("start", l.DomainCreate(dom))
	state, maxKiB, _, cpus, _, err := l.DomainGetInfo(dom)
	c.requireOK("info", err)
	if golibvirt.DomainState(state) != golibvirt.DomainRunning || maxKiB != 16<<10 || cpus != 1 {
		t.Errorf("state %d, %d KiB, %d processors", state, maxKiB, cpus)
	}
	all, n, err := l.ConnectListAllDomains(1, golibvirt.ConnectListDomainsActive)
	c.requireOK("list", err)
	if n != 1 || len(all) != 1 || all[0].Name != "go" || all[0].UUID != dom.UUID {
		t.Errorf("%d domains: %+v", n, all)
	}
	stats, err := l.ConnectGetAllDomainStats([]golibvirt.Domain{dom}, 0, 0)
	c.requireOK("stats", err)
	if len(stats) != 1 || stats[0].Dom.Name != "go" || len(stats[0].Params) < 20 {
		t.Errorf("stats: %+v", stats)
	}
	_, _, _, _, _, err = l.DomainBlockStats(dom, "vda")
	c.requireOK("block stats", err)
	doc, err := l.DomainGetXMLDesc(dom, 0)
	c.requireOK("document", err)
	if !strings.Contains(doc, "<target dev='vnet0'/>") {
		t.Errorf("document of the running guest: %s", doc)
	}
	c.requireOK("destroy", l.DomainDestroy(dom))
	want := []golibvirt.DomainEventType{golibvirt.DomainEventDefined, golibvirt.DomainEventStarted, golibvirt.DomainEventStopped}
	late, cancel := emutest.Context(t.Context())
	defer cancel()
	for _, w := range want {
		for got := golibvirt.DomainEventType(-1); got != w; {
			select {
			case e, open := <-events:
				if !open || e.Dom.Name != "go" {
					t.Fatalf("event %+v, open: %v", e, open)
				}
				got = golibvirt.DomainEventType(e.Event)
			case <-late.Done():
				t.Fatalf("event %d did not come", w)
			}
		}
	}
	stop()
	for range events { // until the client has deregistered
	}
	c.requireOK("undefine", l.DomainUndefine(dom))
	_, err = l.DomainLookupByName("go")
	if !golibvirt.IsNotFound(err) || err.Error() != "Domain not found: no domain with matching name 'go'" {
		t.Errorf("a domain that is gone: %v, want VIR_ERR_NO_DOMAIN (%d)", err, virterr.NoDomain)
	}
	c.requireOK("destroy the network", l.NetworkDestroy(network))
	if left := c.daemon.Leftovers(); left != nil {
		t.Errorf("left: %v", left)
	}
}

// go-libvirt sends up to 4 MiB in a message of a stream.
func TestGoLibvirt_MovesVolumesUpAndDown(t *testing.T) {
	t.Parallel()
	c := serve(t)
	l := c.goClient()
	if err := os.Mkdir(filepath.Join(c.work, "p"), 0o755); err != nil {
		t.Fatal(err)
	}
	pool, err := l.StoragePoolCreateXML(c.fill("<pool type='dir'><name>p</name><target><path>ROOT/work/p</path></target></pool>"), 0)
	c.requireOK("create a pool", err)
	content := make([]byte, 9<<20+3)
	for i := range content {
		content[i] = byte(i * 7 >> 3)
	}
	vol, err := l.StorageVolCreateXML(pool, fmt.Sprintf("<volume><name>v</name><capacity>%d</capacity><target><format type='raw'/></target></volume>", len(content)), 0)
	c.requireOK("create a volume", err)
	c.requireOK("upload", l.StorageVolUpload(vol, bytes.NewReader(content), 0, 0, 0))
	if got, err := os.ReadFile(filepath.Join(c.work, "p/v")); err != nil || !bytes.Equal(got, content) {
		t.Errorf("uploaded: %d bytes, %v; want the %d that were sent", len(got), err, len(content))
	}
	var down bytes.Buffer
	c.requireOK("download", l.StorageVolDownload(vol, &down, 4_000_000, 5_000_001, 0))
	if !bytes.Equal(down.Bytes(), content[4_000_000:9_000_001]) {
		t.Errorf("downloaded %d bytes that differ from what was sent", down.Len())
	}
	c.requireOK("delete", l.StorageVolDelete(vol, 0))
	c.requireOK("destroy the pool", l.StoragePoolDestroy(pool))
}
