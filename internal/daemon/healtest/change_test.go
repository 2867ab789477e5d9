package healtest

import (
	"fmt"
	"strings"
	"testing"

	"taproom/internal/api/own"
	"taproom/internal/api/remote"
	"taproom/internal/api/xdr"
)

// apply has network one be as a document says, as `taproom up` does.
func (w *world) apply(doc string) {
	w.Helper()
	r, err := w.daemon.Client().Apply(w.Context(), own.ApplyRequest{Documents: []own.Document{{Name: "one", XML: doc}}})
	if err != nil {
		w.Fatal(err)
	}
	for _, o := range r.Objects {
		if o.Error != "" {
			w.Fatalf("%s\nof %s", o.Error, doc)
		}
	}
}

// update is virNetworkUpdate of network one, of what runs and of what is kept.
func (w *world) update(command, section uint32, xml string) {
	w.Helper()
	c := w.daemon.Client()
	n, err := c.Network(w.Context(), "one")
	if err == nil {
		const live, config = 1, 2
		err = c.Call(w.Context(), remote.ProgramRemote, remote.ProcNetworkUpdate,
			&remote.NetworkUpdate{Network: n, Command: command, Section: section, ParentIndex: -1, XML: xml, Flags: live | config}, &xdr.Void{})
	}
	if err != nil {
		w.Fatalf("update with %s: %v", xml, err)
	}
}

// Whatever of a network that can be changed while it runs is changed: guests stay on its bridge, and their connections to
// the outside, through NAT, go on.
func TestConnectionsSurviveWhateverIsChangedOfTheirNetwork(t *testing.T) {
	t.Parallel()
	w := newWorld(t, shared)
	four, six := w.connect(w.guest, w.away, awayAddr, patience), w.connect(w.guest, w.away, awayAddr6, patience)
	k := w.host().Kernel()
	was, err := k.LinkByName("virbr-one")
	if err != nil {
		t.Fatal(err)
	}
	goOn := func(what string) {
		t.Helper()
		for _, s := range []*stream{four, six} {
			if _, cuts := w.goesOn(s); cuts > 0 {
				t.Errorf("%s: a connection was cut %d times", what, cuts)
			}
		}
		now, err := k.LinkByName("virbr-one")
		if err != nil || now.Index != was.Index || now.MAC != was.MAC {
			t.Errorf("%s: the bridge was %+v and is %+v, %v", what, was, now, err)
		}
		if l, err := k.LinkByName("guest0"); err != nil || l.Master != was.Index {
			t.Errorf("%s: the guest is on %d, %v", what, l.Master, err)
		}
	}
	doc := fmt.Sprintf(networkXML, "one", 150)
	for _, c := range []struct{ old, by string }{
		{"<dhcp>", "<dhcp><host mac='52:54:00:00:00:77' ip='192.168.150.77'/>"},
		{"</dhcp>", "<range start='192.168.150.20' end='192.168.150.30'/></dhcp>"},
		{"</network>", "<dns><host ip='192.168.150.9'><hostname>nine</hostname></host></dns></network>"},
		{"</network>", "<domain name='one.test'/></network>"},
		{"</network>", "<route address='192.168.222.0' prefix='24' gateway='192.168.150.7'/></network>"},
		{"</network>", "<portgroup name='a' default='yes'/></network>"},
		{"</network>", "<ip address='192.168.155.1' prefix='24'/></network>"},
		{"</network>", "<mtu size='1400'/></network>"},
		{"<nat ipv6='yes'/>", "<nat ipv6='yes'><port start='2000' end='3000'/></nat>"},
		{"mode='nat'", "mode='nat' dev='up0'"},
		{"<route address='192.168.222.0'", "<route metric='9' address='192.168.222.0'"},
		{" dev='up0'", ""},
	} {
		next := strings.Replace(doc, c.old, c.by, 1)
		if next == doc {
			t.Fatalf("%q is not in the document", c.old)
		}
		doc = next
		w.apply(doc)
		goOn("with " + c.by)
	}
	const modify, remove, add = 1, 2, 3
	for _, c := range []struct {
		command, section uint32
		xml              string
	}{
		{add, 4, "<host mac='52:54:00:00:00:78' ip='192.168.150.78'/>"},
		{modify, 4, "<host mac='52:54:00:00:00:78' ip='192.168.150.79'/>"},
		{remove, 4, "<host mac='52:54:00:00:00:78'/>"},
		{add, 5, "<range start='192.168.150.40' end='192.168.150.50'/>"},
		{remove, 5, "<range start='192.168.150.40' end='192.168.150.50'/>"},
		{add, 7, "<interface dev='up0'/>"},
		{remove, 7, "<interface dev='up0'/>"},
		{add, 9, "<portgroup name='b'/>"},
		{remove, 9, "<portgroup name='b'/>"},
		{add, 10, "<host ip='192.168.150.8'><hostname>eight</hostname></host>"},
		{add, 11, "<txt name='t' value='v'/>"},
		{add, 12, "<srv service='a' protocol='tcp' domain='one.test' target='h' port='1'/>"},
	} {
		w.update(c.command, c.section, c.xml)
		goOn("updated by " + c.xml)
	}
}
