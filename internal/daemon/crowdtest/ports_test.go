package crowdtest

import (
	"errors"
	"fmt"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"taproom/internal/api/client"
	"taproom/internal/api/remote"
	"taproom/internal/daemon/daemontest"
	"taproom/internal/qemu/emutest"
)

// Two daemons that share a network namespace give displays ports from the same first one on. Whoever is slower with a port gets
// the next one: no guest fails, no two have the same port, and on each its own QEMU listens.
func TestTwoDaemonsInOneNamespaceShareThePortsOfDisplays(t *testing.T) {
	t.Parallel()
	const guests = 2
	first := daemontest.New(t)
	daemons := []*daemontest.Daemon{first, first.Beside()}
	var started [2][guests]remote.Domain
	each := func(do func(c *client.Client, dom *remote.Domain, name string) error) {
		t.Helper()
		var wg sync.WaitGroup
		for n, d := range daemons {
			for guest := range guests {
				c := d.Client()
				wg.Go(func() {
					name := fmt.Sprintf("guest-%d-%d", n, guest)
					if err := do(c, &started[n][guest], name); err != nil {
						t.Errorf("%s: %v", name, err)
					}
				})
			}
		}
		wg.Wait()
		if t.Failed() {
			t.FailNow()
		}
	}
	each(func(c *client.Client, dom *remote.Domain, name string) (err error) {
		*dom, err = c.DefineDomain(t.Context(), "<domain type='qemu'><name>"+name+`</name><memory unit='MiB'>16</memory><vcpu>1</vcpu>
			<os><type arch='x86_64' machine='pc'>hvm</type></os><devices><controller type='usb' model='none'/><memballoon model='none'/>
			<graphics type='vnc' autoport='yes'/></devices></domain>`)
		if err == nil {
			*dom, err = c.StartDomain(t.Context(), *dom, paused)
		}
		return err
	})
	whose := map[string]string{}
	for n, d := range daemons {
		for guest := range guests {
			xml, err := d.Client().DomainXML(t.Context(), started[n][guest], 0)
			if err != nil {
				t.Fatal(err)
			}
			_, rest, _ := strings.Cut(xml, "<graphics type='vnc' port='")
			port, _, _ := strings.Cut(rest, "'")
			if other := whose[port]; other != "" {
				t.Errorf("%s and %s have port %s", other, started[n][guest].Name, port)
			}
			whose[port] = started[n][guest].Name
		}
	}
	for port, name := range whose {
		var c net.Conn
		var err error
		first.NS.Do(func() { c, err = net.Dial("tcp", "127.0.0.1:"+port) })
		if err != nil {
			t.Errorf("%s says that it has port %s: %v", name, port, err)
			continue
		}
		if err := c.SetDeadline(time.Now().Add(guests * emutest.Patience())); err != nil {
			t.Error(err)
		}
		said := make([]byte, 4)
		if _, err := c.Read(said); err != nil || string(said) != "RFB " {
			t.Errorf("%s at port %s says %q, %v", name, port, said, err)
		}
		_ = c.Close()
	}
	each(func(c *client.Client, dom *remote.Domain, _ string) error {
		return errors.Join(c.DestroyDomain(t.Context(), *dom), c.UndefineDomain(t.Context(), *dom, 0))
	})
	for n, d := range daemons {
		if left := d.Leftovers(); left != nil {
			t.Errorf("left of daemon %d: %v", n, left)
		}
	}
}
