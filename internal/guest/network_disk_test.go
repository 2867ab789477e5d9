package guest

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// Documents whose servers are not there when QEMU is tried with the others.
func TestDisksOfServersAreCompletedAsLibvirtDoes(t *testing.T) {
	t.Parallel()
	cases(t, "network", func(t *testing.T, path string, files map[string][]byte) {
		d := parse(t, files["domain.xml"])
		if err := d.Validate(); err != nil {
			t.Fatal(err)
		}
		if err := Complete(d, pcHost()); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(string(files["libvirt-9.0.xml"]), string(Inactive(d, false).Format())); diff != "" {
			t.Errorf("completed (-want +got):\n%s", diff)
		}
		c, err := Compile(d, testRuntime(d))
		if err != nil {
			t.Fatal(err)
		}
		golden(t, path, "argv", lines(t, c.Config))
		golden(t, path, "needs", describe(c))
		if diff := cmp.Diff([]uint16{443, 10810}, c.Config.ConnectTCP); diff != "" || c.Config.AnyTCP {
			t.Errorf("QEMU may connect to (-want +got):\n%s", diff)
		}
		live := string(Live(d, testRuntime(d), LiveFacts{ID: 1}, false).Format())
		if !strings.Contains(live, "<source protocol='nbd' name='exp' index='2'>") || !strings.Contains(live, "<driver name='qemu' type='qcow2' cache='none' queue_size='256'/>") {
			t.Errorf("live:\n%s", live)
		}
	})
}

func TestDisksOfServersThatCannotBeAreRefused(t *testing.T) {
	t.Parallel()
	disk := func(source string) string {
		return "<devices><disk type='network'>" + source + "<target dev='vda'/></disk></devices>"
	}
	for _, c := range []struct{ doc, want string }{
		{disk(""), "invalid devices/disk/source/@protocol: vda: it is missing; use nbd, http or https"},
		{disk("<source protocol='rbd' name='a'/>"), `devices/disk/source/@protocol is not supported: "rbd" is not implemented; use nbd, http or https`},
		{disk("<source protocol='nbd'/>"), "invalid devices/disk/source/host: vda: one is needed, not 0"},
		{disk("<source protocol='nbd' tls='yes'><host name='a'/></source>"), `devices/disk/source/@tls is not supported: "yes" is not implemented; use no`},
		{disk("<source protocol='http' name='a'><host name='a'/></source>"), "devices/disk/source/@protocol is not supported: vda: nothing can be written by http; add <readonly/>"},
		{disk("<source protocol='http'><host name='a'/></source>"), "invalid devices/disk/source/@name: vda: it is missing: the path on the server"},
		{disk("<source protocol='http' name='a'><host transport='unix' socket='/a'/></source>"), "devices/disk/source/host/@transport is not supported: vda: unix is for NBD"},
		{disk("<source protocol='nbd' query='a'><host name='a'/></source>"), "invalid devices/disk/source: vda: query, ssl, readahead and timeout are for http and https"},
		{disk("<source protocol='https' name='a'><host name='a'/><cookies><cookie name='a'>b</cookie></cookies></source><readonly/>"), "devices/disk/source/cookies is not supported: they could be read in the list of processes"},
		{disk("<source protocol='nbd'><host name='a'/><auth username='b'/></source>"), "devices/disk/source/auth is not supported: there is no store of secrets"},
		{disk("<source protocol='nbd'><host name='a b'/></source>"), `invalid devices/disk/source/host/@name: "a b" is not a host's name or address`},
		{disk("<source protocol='nbd'><host transport='unix'/></source>"), "invalid devices/disk/source/host: vda: transport unix takes a socket and nothing else"},
		{disk("<source protocol='nbd' file='/a'><host name='a'/></source>"), "invalid devices/disk/source: vda: a disk of type network takes a protocol and a host"},
	} {
		_, err := tuned(t, "qemu", c.doc, nil)
		if err == nil || err.Error() != c.want {
			t.Errorf("%s:\n got %v\nwant %s", c.doc, err, c.want)
		}
	}
}
