package crowdtest

import (
	"errors"
	"fmt"
	"slices"
	"testing"

	"taproom/internal/api/client"
	"taproom/internal/api/remote"
	"taproom/internal/daemon/daemontest"
	"taproom/internal/spec"
)

// linksOf are the names of a running guest's links.
func linksOf(t *testing.T, c *client.Client, dom remote.Domain) []string {
	t.Helper()
	xml, err := c.DomainXML(t.Context(), dom, 0)
	if err != nil {
		t.Fatal(err)
	}
	doc, err := spec.ParseDomain([]byte(xml))
	if err != nil {
		t.Fatalf("%v:\n%s", err, xml)
	}
	var names []string
	for _, nic := range doc.Devices.Interfaces {
		if nic.Target == nil || nic.Target.Dev == "" {
			t.Fatalf("a NIC of a running guest is on no link:\n%s", xml)
		}
		names = append(names, nic.Target.Dev)
	}
	return names
}

// TestEveryNICOfManyGuestsIsKnownAfterTheDaemonWasKilled has a gap among the names, so that whoever counts NICs in
// place of reading their names gives the next guest a name that is another's.
func TestEveryNICOfManyGuestsIsKnownAfterTheDaemonWasKilled(t *testing.T) {
	t.Parallel()
	const guests, taps, macvtaps = 10, 4, 4
	d := daemontest.New(t)
	links(d)
	c := d.Client()
	run := func(name string) remote.Domain {
		t.Helper()
		dom, err := c.DefineDomain(t.Context(), withNICs(name, taps, macvtaps))
		if err == nil {
			dom, err = c.StartDomain(t.Context(), dom, paused)
		}
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		return dom
	}
	started, names := map[string]remote.Domain{}, map[string][]string{}
	for i := range guests {
		name := fmt.Sprintf("known-%d", i)
		started[name] = run(name)
		names[name] = linksOf(t, c, started[name])
	}
	const gone = "known-4"
	if err := c.DestroyDomain(t.Context(), started[gone]); err != nil {
		t.Fatal(err)
	}
	d.Kill()
	if err := d.Start(); err != nil {
		t.Fatal(err)
	}
	c = d.Client()
	const active = 1 // VIR_CONNECT_LIST_DOMAINS_ACTIVE
	there, err := c.Domains(t.Context(), active)
	if err != nil {
		t.Fatal(err)
	}
	if len(there) != guests-1 {
		t.Errorf("%d guests run for the next daemon, want %d", len(there), guests-1)
	}
	for _, dom := range there {
		if dom.ID != started[dom.Name].ID {
			t.Errorf("%s has the number %d, and had %d", dom.Name, dom.ID, started[dom.Name].ID)
		}
		if got := linksOf(t, c, dom); !slices.Equal(got, names[dom.Name]) {
			t.Errorf("%s has the links %q, and had %q", dom.Name, got, names[dom.Name])
		}
	}
	if a, b := nics(d); a != (guests-1)*taps || b != (guests-1)*macvtaps {
		t.Errorf("%d taps and %d macvtaps are there, want %d and %d", a, b, (guests-1)*taps, (guests-1)*macvtaps)
	}
	started["next"] = run("next")
	var next []string
	for i := range taps {
		next = append(next, fmt.Sprintf("vnet%d", guests*taps+i))
	}
	for i := range macvtaps {
		next = append(next, fmt.Sprintf("macvtap%d", guests*macvtaps+i))
	}
	if got := linksOf(t, c, started["next"]); !slices.Equal(got, next) {
		t.Errorf("the next guest has the links %q, want %q", got, next)
	}
	for _, dom := range started {
		if dom.Name != gone {
			err = errors.Join(err, c.DestroyDomain(t.Context(), dom))
		}
		err = errors.Join(err, c.UndefineDomain(t.Context(), dom, 0))
	}
	if err != nil {
		t.Error(err)
	}
	nothingIsLeft(t, d)
}
