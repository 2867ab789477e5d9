package clienttest

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"taproom/internal/api/remote"
	"taproom/internal/api/virterr"
	"taproom/internal/api/xdr"
	"taproom/internal/qemu/emutest"
)

func TestListenersHearOfNewNamesAndDescriptions(t *testing.T) {
	t.Parallel()
	c := serve(t)
	c.write("guest.xml", "<domain type='qemu'><name>guest</name><memory>16384</memory><os><type arch='x86_64'>hvm</type></os></domain>")
	events := c.events()
	events.forget()
	c.do("define", "guest.xml")
	c.do("desc", "guest", "--config", "said")
	c.do("desc", "guest", "--config", "--title", "title")
	c.do("metadata", "guest", "http://a.example/", "--key", "a", "--set", "<a/>", "--config")
	c.do("domrename", "guest", "other")
	events.line("event 'lifecycle' for domain 'other': Defined Renamed")
	want := `event 'lifecycle' for domain 'guest': Defined Added
event 'metadata-change' for domain 'guest': type description, uri <null>
event 'metadata-change' for domain 'guest': type title, uri <null>
event 'metadata-change' for domain 'guest': type element, uri http://a.example/
event 'lifecycle' for domain 'guest': Undefined Renamed
event 'lifecycle' for domain 'other': Defined Renamed
`
	if diff := cmp.Diff(want, events.all()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// The distribution's virsh knows no metadata of networks yet.
func TestNetworksAreDescribedToo(t *testing.T) {
	t.Parallel()
	c := serve(t)
	ctx, cancel := emutest.Context(t.Context())
	defer cancel()
	c.write("net.xml", "<network><name>net</name><bridge name='virbr-said'/><ip address='192.168.77.1' prefix='24'/></network>")
	c.do("net-define", "net.xml")
	own := c.daemon.Client()
	net, err := own.Network(ctx, "net")
	if err != nil {
		t.Fatal(err)
	}
	set := func(m remote.SetMetadata) error {
		return own.Call(ctx, remote.ProgramRemote, remote.ProcNetworkSetMetadata, &remote.NetworkSetMetadata{Network: net, SetMetadata: m}, &xdr.Void{})
	}
	get := func(m remote.GetMetadata) (string, error) {
		var r remote.String
		err := own.Call(ctx, remote.ProgramRemote, remote.ProcNetworkGetMetadata, &remote.NetworkGetMetadata{Network: net, GetMetadata: m}, &r)
		return r.S, err
	}
	const (
		live, config = 1, 2
		title        = 1
		element      = 2
	)
	uri := remote.Opt("http://a.example/")
	if _, err := get(remote.GetMetadata{Type: title}); virterr.CodeOf(err) != virterr.NoNetworkMetadata {
		t.Errorf("a network without a title answers %v", err)
	}
	if err := set(remote.SetMetadata{Type: title, Metadata: remote.Opt("The title"), Flags: live}); virterr.CodeOf(err) != virterr.OperationInvalid {
		t.Errorf("a network that is not active has a title changed: %v", err)
	}
	if err := set(remote.SetMetadata{Type: element, Metadata: remote.Opt("<a/>"), Key: remote.Opt("a"), URI: uri}); err != nil {
		t.Fatal(err)
	}
	c.do("net-start", "net")
	if err := set(remote.SetMetadata{Type: title, Metadata: remote.Opt("The title"), Flags: live | config}); err != nil {
		t.Fatal(err)
	}
	if err := set(remote.SetMetadata{Type: element, URI: uri, Flags: live}); err != nil {
		t.Fatal(err)
	}
	c.restart("kill")
	own = c.daemon.Client()
	for _, flags := range []uint32{live, config} {
		if got, err := get(remote.GetMetadata{Type: title, Flags: flags}); got != "The title" || err != nil {
			t.Errorf("flags %d: the title is %q (%v)", flags, got, err)
		}
	}
	if got, err := get(remote.GetMetadata{Type: element, URI: uri, Flags: live}); virterr.CodeOf(err) != virterr.NoNetworkMetadata {
		t.Errorf("the active network still has %q (%v)", got, err)
	}
	if got, err := get(remote.GetMetadata{Type: element, URI: uri, Flags: config}); got != "<a/>" || err != nil {
		t.Errorf("the definition has %q (%v)", got, err)
	}
	c.do("net-destroy", "net")
	c.do("net-undefine", "net")
}
