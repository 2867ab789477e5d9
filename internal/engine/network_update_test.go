package engine

import (
	"strings"
	"testing"

	"taproom/internal/api/server"
	"taproom/internal/api/virterr"
	"taproom/internal/spec"
)

const updateNetworkXML = `<network><name>n</name><bridge name='virbr9'/>
<ip address='192.168.9.1' netmask='255.255.255.0'><dhcp>
<range start='192.168.9.2' end='192.168.9.9'/><host mac='52:54:00:00:00:01' name='a' ip='192.168.9.20'/>
</dhcp></ip></network>`

func TestUpdatesOfDHCPChangeTheDocument(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		update server.NetworkUpdate
		want   string // in the document afterwards, or in the error
		code   virterr.Code
	}{
		"a host behind the others": {
			server.NetworkUpdate{Command: updateAddLast, Section: sectionDHCPHost, ParentIndex: -1, XML: `<host mac='52:54:00:00:00:02' ip='192.168.9.21'/>`},
			"ip='192.168.9.20'/>\n      <host mac='52:54:00:00:00:02' ip='192.168.9.21'/>", 0,
		},
		"a host before the others": {
			server.NetworkUpdate{Command: updateAddFirst, Section: sectionDHCPHost, ParentIndex: 0, XML: `<host mac='52:54:00:00:00:02' ip='192.168.9.21'/>`},
			"ip='192.168.9.21'/>\n      <host mac='52:54:00:00:00:01'", 0,
		},
		"a host in place": {
			server.NetworkUpdate{Command: updateModify, Section: sectionDHCPHost, ParentIndex: -1, XML: `<host mac='52:54:00:00:00:01' ip='192.168.9.22'/>`},
			"<host mac='52:54:00:00:00:01' ip='192.168.9.22'/>", 0,
		},
		"a range more": {
			server.NetworkUpdate{Command: updateAddLast, Section: sectionDHCPRange, ParentIndex: -1, XML: `<range start='192.168.9.30' end='192.168.9.39'/>`},
			"<range start='192.168.9.30' end='192.168.9.39'/>", 0,
		},
		"a host twice": {
			server.NetworkUpdate{Command: updateAddLast, Section: sectionDHCPHost, ParentIndex: -1, XML: `<host mac='52:54:00:00:00:01' ip='192.168.9.23'/>`},
			"there is an existing dhcp host entry in network 'n'", virterr.OperationInvalid,
		},
		"a host that is not there": {
			server.NetworkUpdate{Command: updateDelete, Section: sectionDHCPHost, ParentIndex: -1, XML: `<host mac='52:54:00:00:00:09'/>`},
			"couldn't locate a matching dhcp host entry in network 'n'", virterr.OperationInvalid,
		},
		"an address outside": {
			server.NetworkUpdate{Command: updateAddLast, Section: sectionDHCPHost, ParentIndex: -1, XML: `<host mac='52:54:00:00:00:02' ip='10.0.0.1'/>`},
			"10.0.0.1", virterr.XMLError,
		},
		"a range modified": {
			server.NetworkUpdate{Command: updateModify, Section: sectionDHCPRange, ParentIndex: -1, XML: `<range start='192.168.9.2' end='192.168.9.9'/>`},
			"dhcp ranges cannot be modified", virterr.OperationInvalid,
		},
		"another section": {
			server.NetworkUpdate{Command: updateAddLast, Section: 9, ParentIndex: -1, XML: `<portgroup/>`},
			"portgroup of network 'n' cannot be updated in place", virterr.OperationUnsupported,
		},
		"no such ip": {
			server.NetworkUpdate{Command: updateAddLast, Section: sectionDHCPHost, ParentIndex: 3, XML: `<host/>`},
			"network 'n' has no <dhcp> to update", virterr.OperationInvalid,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			doc, err := spec.ParseNetwork([]byte(updateNetworkXML))
			if err != nil {
				t.Fatal(err)
			}
			err = new(Engine).updateDocument(doc, c.update)
			got := string(doc.Format())
			if err != nil {
				got = err.Error()
			}
			if !strings.Contains(got, c.want) || (err != nil) != (c.code != 0) || err != nil && virterr.CodeOf(err) != c.code {
				t.Errorf("code %d: %s\nwant code %d and %q", virterr.CodeOf(err), got, c.code, c.want)
			}
		})
	}
}

func TestADeletedHostIsGoneFromTheDocument(t *testing.T) {
	t.Parallel()
	doc, err := spec.ParseNetwork([]byte(updateNetworkXML))
	if err != nil {
		t.Fatal(err)
	}
	u := server.NetworkUpdate{Command: updateDelete, Section: sectionDHCPHost, ParentIndex: -1, XML: `<host mac='52:54:00:00:00:01'/>`}
	if err := new(Engine).updateDocument(doc, u); err != nil {
		t.Fatal(err)
	}
	if got := string(doc.Format()); strings.Contains(got, "<host") {
		t.Errorf("still there: %s", got)
	}
}
