package clienttest

import (
	"context"
	"encoding/xml"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"taproom/internal/api/client"
	"taproom/internal/api/remote"
	"taproom/internal/api/server"
	"taproom/internal/api/xdr"
	"taproom/internal/daemon/daemontest"
	"taproom/internal/qemu/emutest"
)

const crowdNetwork = `<network><name>crowd</name><forward mode='nat'/><bridge name='crowd0'/>
  <ip address='10.77.0.1' netmask='255.255.0.0'><dhcp><range start='10.77.0.2' end='10.77.255.254'/></dhcp></ip></network>`

const crowdGuest = `<domain type='qemu'><name>guest-%03d</name><memory unit='MiB'>16</memory><vcpu>1</vcpu>
  <os><type arch='x86_64' machine='pc'>hvm</type></os><devices>
  <interface type='network'><source network='crowd'/><model type='virtio'/></interface>
  <graphics type='vnc' autoport='yes'/><video><model type='none'/></video><memballoon model='none'/></devices></domain>`

// crowd is many clients that work through a list of guests together.
type crowd struct {
	*daemontest.Daemon
	clients, guests int
}

// each calls f for every guest, from all clients at once, and collects what failed.
func (c crowd) each(ctx context.Context, f func(ctx context.Context, cl *client.Client, guest int) error) error {
	next := make(chan int)
	errs := make(chan error, c.clients+c.guests)
	var wg sync.WaitGroup
	for range c.clients {
		wg.Go(func() {
			cl, err := c.Dial()
			if err != nil {
				errs <- err
				return
			}
			defer cl.Close()
			for guest := range next {
				if err := f(ctx, cl, guest); err != nil {
					errs <- fmt.Errorf("guest %d: %w", guest, err)
				}
			}
		})
	}
	for guest := range c.guests {
		next <- guest
	}
	close(next)
	wg.Wait()
	close(errs)
	var all error
	for err := range errs {
		all = errors.Join(all, err)
	}
	return all
}

// given is what a guest was given when it started.
type given struct {
	Name string `xml:"name"`
	ID   string `xml:"id,attr"`
	UUID string `xml:"uuid"`
	NICs []struct {
		MAC struct {
			Address string `xml:"address,attr"`
		} `xml:"mac"`
		Target struct {
			Dev string `xml:"dev,attr"`
		} `xml:"target"`
	} `xml:"devices>interface"`
	Graphics struct {
		Port string `xml:"port,attr"`
	} `xml:"devices>graphics"`
	Label string `xml:"seclabel>label"`
}

// values are those of them that no two guests may share.
func (g given) values() []string {
	out := []string{"name " + g.Name, "id " + g.ID, "uuid " + g.UUID, "port " + g.Graphics.Port, "user " + g.Label}
	for _, n := range g.NICs {
		out = append(out, "MAC "+n.MAC.Address, "link "+n.Target.Dev)
	}
	return out
}

func TestGuestsThatManyClientsStartAtOnceShareNothing(t *testing.T) {
	const guests = 16 // a hundred of them are in crowdtest, on a bridge that is nobody's
	d := daemontest.New(t)
	ctx, cancel := emutest.Watch(t.Context(), guests, nil)
	defer cancel()
	admin := d.Client()
	var net remote.Network
	if err := admin.Call(ctx, remote.ProgramRemote, remote.ProcNetworkCreateXML, &remote.String{S: crowdNetwork}, &net); err != nil {
		t.Fatal(err)
	}
	c := crowd{Daemon: d, clients: 8, guests: guests}
	docs := make([]given, guests)
	began := time.Now()
	err := c.each(ctx, func(ctx context.Context, cl *client.Client, guest int) error {
		dom, err := cl.DefineDomain(ctx, fmt.Sprintf(crowdGuest, guest))
		if err != nil {
			return err
		}
		const paused = 1
		if dom, err = cl.StartDomain(ctx, dom, paused); err != nil {
			return err
		}
		doc, err := cl.DomainXML(ctx, dom, 0)
		if err != nil {
			return err
		}
		return xml.Unmarshal([]byte(doc), &docs[guest])
	})
	if err != nil {
		t.Fatalf("%v\nthe daemon said: %s", err, d.Said())
	}
	t.Logf("%d guests from %d clients in %v", guests, c.clients, time.Since(began).Round(time.Millisecond))
	holders := map[string]int{}
	for guest, doc := range docs {
		if want := fmt.Sprintf("guest-%03d", guest); doc.Name != want || len(doc.NICs) != 1 || doc.Graphics.Port == "" || doc.Label == "" {
			t.Errorf("guest %d is %+v", guest, doc)
		}
		for _, v := range doc.values() {
			if other, taken := holders[v]; taken {
				t.Errorf("guests %d and %d both have %s", other, guest, v)
			}
			holders[v] = guest
		}
	}
	if n := strings.Count(d.NS.Run("ip", "-o", "link", "show", "master", "crowd0"), "\n"); n != guests {
		t.Errorf("%d links are on the bridge, want %d", n, guests)
	}
	err = c.each(ctx, func(ctx context.Context, cl *client.Client, guest int) error {
		dom, err := cl.Domain(ctx, docs[guest].Name)
		if err != nil {
			return err
		}
		if err := cl.DestroyDomain(ctx, dom); err != nil {
			return err
		}
		return cl.UndefineDomain(ctx, dom, 0)
	})
	if err != nil {
		t.Errorf("%v\nthe daemon said: %s", err, d.Said())
	}
	if err := admin.Call(ctx, remote.ProgramRemote, remote.ProcNetworkDestroy, &net, &xdr.Void{}); err != nil {
		t.Error(err)
	}
	if left := d.Leftovers(); left != nil {
		t.Errorf("left: %v", left)
	}
}

// Clients that change one definition at the same time lose nothing of each other's.
func TestChangesOfOneDefinitionAtOnceAllCount(t *testing.T) {
	t.Parallel()
	d := daemontest.New(t)
	ctx := t.Context()
	dom, err := d.Client().DefineDomain(ctx, `<domain type='qemu'><name>guest</name><memory unit='MiB'>16</memory>
  <os><type arch='x86_64' machine='pc'>hvm</type></os></domain>`)
	if err != nil {
		t.Fatal(err)
	}
	const devices = 16
	c := crowd{Daemon: d, clients: 4, guests: devices}
	err = c.each(ctx, func(ctx context.Context, cl *client.Client, n int) error {
		nic := fmt.Sprintf("<interface type='user'><mac address='52:54:00:00:00:%02x'/></interface>", n)
		return cl.Call(ctx, remote.ProgramRemote, remote.ProcDomainAttachDeviceFlags,
			&remote.DomainStringFlags{Domain: dom, S: nic, Flags: server.AffectConfig}, &xdr.Void{})
	})
	if err != nil {
		t.Fatal(err)
	}
	doc, err := d.Client().DomainXML(ctx, dom, 0)
	if err != nil {
		t.Fatal(err)
	}
	var g given
	if err := xml.Unmarshal([]byte(doc), &g); err != nil {
		t.Fatal(err)
	}
	if len(g.NICs) != devices {
		t.Errorf("%d NICs were attached, %d are there", devices, len(g.NICs))
	}
}

// most is what the daemon may have resident of its own, in MiB, with 500 definitions; without the pages of the program,
// which here has the tests in it as well.
const most = 24

func TestFiveHundredDefinitionsFitInLittleMemory(t *testing.T) {
	t.Parallel()
	d := daemontest.New(t)
	ctx := t.Context()
	c := crowd{Daemon: d, clients: 4, guests: 500}
	err := c.each(ctx, func(ctx context.Context, cl *client.Client, guest int) error {
		_, err := cl.DefineDomain(ctx, fmt.Sprintf(crowdGuest, guest))
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	work := func() {
		t.Helper()
		cl := d.Client()
		for range 20 {
			all, err := cl.Domains(ctx, 0)
			if err != nil || len(all) != c.guests {
				t.Fatalf("%d domains are listed, want %d: %v", len(all), c.guests, err)
			}
			for _, dom := range all[:50] {
				if _, err := cl.DomainXML(ctx, dom, 0); err != nil {
					t.Fatal(err)
				}
			}
		}
	}
	work()
	after := resident(t, d.PID())
	if err := d.Stop(); err != nil {
		t.Fatal(err)
	}
	if err := d.Start(); err != nil {
		t.Fatal(err)
	}
	fresh := resident(t, d.PID())
	work()
	worked := resident(t, d.PID())
	t.Logf("resident after 500 definitions and some work: %.1f MiB; after a restart: %.1f, and after the same work: %.1f", after, fresh, worked)
	for what, mib := range map[string]float64{"that were just made": after, "after a restart": fresh, "after a restart and some work": worked} {
		if mib > most && !underRace { // which needs a multiple of it for itself
			t.Errorf("with 500 definitions %s the daemon has %.1f MiB resident, want at most %d", what, mib, most)
		}
	}
}

// resident is the memory of a process that is in no file, in MiB.
func resident(t *testing.T, pid int) float64 {
	t.Helper()
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(b)) {
		if rest, ok := strings.CutPrefix(line, "RssAnon:"); ok {
			kib, err := strconv.ParseFloat(strings.TrimSuffix(strings.TrimSpace(rest), " kB"), 64)
			if err != nil {
				t.Fatal(err)
			}
			return kib / 1024
		}
	}
	t.Fatalf("process %d has no RssAnon", pid)
	return 0
}
