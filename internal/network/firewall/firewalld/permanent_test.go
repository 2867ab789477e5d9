package firewalld_test

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"taproom/internal/host"
	"taproom/internal/host/sysbus"
	"taproom/internal/network/firewall"
	"taproom/internal/network/firewall/firewalld"
	"taproom/internal/network/firewall/firewalld/firewalldtest"
	"taproom/internal/network/firewall/firewalltest"
)

// record is one in memory.
type record struct {
	mu      sync.Mutex
	bridges []string
	fail    error
	loads   int
}

func (r *record) Load() ([]string, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.loads++
	return slices.Clone(r.bridges), r.fail
}

func (r *record) Save(bridges []string) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.bridges = slices.Clone(bridges)
	return r.fail
}

func (r *record) String() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return strings.Join(r.bridges, " ")
}

// recorded opens the back end with a record.
func (m *machine) recorded(t testing.TB, r *record) *firewalld.Backend {
	t.Helper()
	m.ns.Keep("table ip taproom")
	b := firewalld.New(firewall.New(m.nft, firewall.DefaultTable), firewalld.Config{
		Kernel: m.ns.Kernel(), Socket: m.Socket, Group: group, Within: firewalldtest.Patience, Record: r,
	})
	t.Cleanup(func() {
		if err := b.Close(); err != nil {
			t.Error(err)
		}
	})
	return b
}

// Bridges in our zone are in it when firewalld begins anew, without anybody who tells it; those that have gone are not.
func TestFirewalldKeepsBridgesOverAReload(t *testing.T) {
	t.Parallel()
	both(t, func(t *testing.T, backend string) {
		m, r := newMachine(t, backend), &record{}
		b := m.recorded(t, r)
		apply(t, b, virbr0, nil)
		m.AddPermanent(firewalld.Zone, "eth9") // an administrator's
		m.AddPermanent("home", "virbr3")
		second := firewalltest.Elements("nat", "virbr2", "10.3.0.0/24")
		third := firewalltest.Elements("nat", "virbr3", "10.4.0.0/24")
		all := slices.Concat(virbr0, virbr1, second, third)
		var binds atomic.Int32
		b.SetAround(func(method string, call func() error) error {
			if strings.HasSuffix(method, ".changeZoneOfInterface") {
				binds.Add(1)
			}
			return call()
		})
		keep(t, b, all)
		m.Await("the bridges are in the permanent configuration", func() bool {
			return m.Permanent(firewalld.Zone) == "eth9 virbr0 virbr2" && r.String() == "virbr0 virbr2"
		})
		if links := m.Permanent("work") + m.Permanent("home"); links != "virbr3" {
			t.Errorf("in others' zones are %q", links)
		}
		binds.Store(0)
		m.Reload()
		if links := m.Interfaces(firewalld.Zone); !strings.HasPrefix(links, "eth9 virbr0 virbr2") {
			t.Errorf("after a reload there are %q", links)
		}
		m.Await("all are where they should be", func() bool {
			return m.Interfaces("work") == "virbr1" && m.Interfaces(firewalld.Zone) == "eth9 virbr0 virbr2 virbr3"
		})
		observed(t, b, all...)
		if n := binds.Load(); n != 2 {
			t.Errorf("%d bridges were bound again, and 2 had to be", n)
		}
		m.StopDaemon()
		m.StartDaemon()
		m.Await("after a restart, too", func() bool {
			return m.Interfaces("work") == "virbr1" && m.Interfaces(firewalld.Zone) == "eth9 virbr0 virbr2 virbr3"
		})
	})
}

// What a daemon that was killed left in the permanent configuration goes, also out of the zone where a reload put it.
func TestBridgesThatHaveGoneLeaveThePermanentConfiguration(t *testing.T) {
	t.Parallel()
	m, r := newMachine(t, firewalldtest.NFTables), &record{bridges: []string{"virbr2", "virbr5"}}
	b := m.recorded(t, r)
	apply(t, b, virbr0, nil) // which makes the zone
	for _, link := range []string{"eth9", "virbr2", "virbr5"} {
		m.AddPermanent(firewalld.Zone, link)
	}
	m.Reload()
	if links := m.Interfaces(firewalld.Zone); links != "eth9 virbr2 virbr5" {
		t.Fatalf("in the zone are %q", links)
	}
	keep(t, b, virbr0)
	m.Await("it is gone", func() bool {
		return m.Permanent(firewalld.Zone) == "eth9 virbr0" && m.Interfaces(firewalld.Zone) == "eth9 virbr0" && r.String() == "virbr0"
	})
}

// What cannot be written is told, until it can.
func TestAPermanentConfigurationThatCannotBeWritten(t *testing.T) {
	t.Parallel()
	m, r := newMachine(t, firewalldtest.NFTables), &record{}
	b := m.recorded(t, r)
	var no atomic.Bool
	no.Store(true)
	fault := &sysbus.Error{Name: "org.freedesktop.DBus.Error.Failed", Message: "the disk is full"}
	b.SetAround(func(method string, call func() error) error {
		if no.Load() && strings.HasSuffix(method, ".setInterfaces") {
			return fault
		}
		return call()
	})
	apply(t, b, virbr0, nil)
	keep(t, b, virbr0)
	m.Await("it is told", func() bool { return errors.Is(b.Fleeting(), fault) })
	if r.String() != "virbr0" {
		t.Errorf("what may be there is written down before: %q", r)
	}
	no.Store(false)
	m.Reload() // and it is bound at run time
	m.Await("it is written", func() bool { return m.Permanent(firewalld.Zone) == "virbr0" && b.Fleeting() == nil })
}

// A network that begins just when its bridge, which a reload put into our zone, is taken out of it has the bridge there.
func TestABridgeThatComesWhileItIsTakenOutIsInItsZone(t *testing.T) {
	t.Parallel()
	m, r := newMachine(t, firewalldtest.NFTables), &record{bridges: []string{"virbr0"}}
	b := m.recorded(t, r)
	apply(t, b, virbr1, nil)
	apply(t, b, virbr0, nil) // which makes the zone
	apply(t, b, nil, virbr0)
	m.AddPermanent(firewalld.Zone, "virbr0")
	m.Reload()
	var taken atomic.Bool
	b.SetAround(func(method string, call func() error) error {
		if !strings.HasSuffix(method, ".zone.removeInterface") || taken.Load() {
			return call()
		}
		if err := b.Apply(t.Context(), virbr0, nil); err != nil {
			t.Error(err)
		}
		defer taken.Store(true)
		return call()
	})
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		b.KeepPermanent(ctx) // and nobody puts anything back
	}()
	m.Await("it is kept", func() bool { return taken.Load() && m.Permanent(firewalld.Zone) == "virbr0" && r.String() == "virbr0" })
	cancel()
	<-ended
	if links := m.Interfaces(firewalld.Zone); links != "virbr0" {
		t.Errorf("in the zone are %q", links)
	}
}

// What can never be written is tried ever less often, and soon again when networks change.
func TestWhatCannotBeWrittenIsTriedEverLessOften(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := &record{fail: errors.New("no space left")}
		b := firewalld.New(nothing{}, firewalld.Config{Kernel: host.New(host.Options{}), Socket: filepath.Join(t.TempDir(), "none"), Record: r})
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			b.KeepPermanent(ctx)
		}()
		<-time.After(24 * time.Hour) // of the test's own clock
		synctest.Wait()
		before := r.loads
		if before < 24 || before > 200 {
			t.Errorf("in a day it was tried %d times", before)
		}
		if err := b.Apply(ctx, []firewall.Element{{Set: "bridges", Key: "virbr0"}}, nil); err != nil {
			t.Error(err)
		}
		<-time.After(time.Second)
		synctest.Wait()
		if r.loads == before {
			t.Error("it is not tried when a network comes")
		}
		cancel()
		<-ended
	})
}

// A thousand networks that start together are not a thousand questions.
func TestManyBridgesAreFewQuestions(t *testing.T) {
	t.Parallel()
	m, r := newMachine(t, firewalldtest.NFTables), &record{}
	b := m.recorded(t, r)
	var all []firewall.Element
	for i := range 40 {
		all = append(all, firewall.Element{Set: "bridges", Key: fmt.Sprintf("virbr%d", i)})
	}
	apply(t, b, all, nil)
	var calls atomic.Int32
	b.SetAround(func(method string, call func() error) error {
		if strings.Contains(method, ".config.") {
			calls.Add(1)
		}
		return call()
	})
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		b.KeepPermanent(ctx)
	}()
	m.Await("they are kept", func() bool {
		return len(strings.Fields(r.String())) == 40 && len(strings.Fields(m.Permanent(firewalld.Zone))) == 40
	})
	cancel()
	<-ended
	if n := calls.Load(); n >= 40 {
		t.Errorf("firewalld was asked %d times", n)
	}
}
