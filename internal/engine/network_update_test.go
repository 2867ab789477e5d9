package engine

import (
	"strings"
	"testing"

	"taproom/internal/api/server"
	"taproom/internal/api/virterr"
	"taproom/internal/spec"
)

const updateNetworkXML = `<network><name>n</name><bridge name='virbr9'/><mac address='52:54:00:00:00:99'/>
<dns><txt name='t' value='v'/><srv service='a' protocol='tcp' target='h' port='1'/><srv service='a' protocol='udp' target='h' port='1'/>
<host ip='192.168.9.40'><hostname>x</hostname></host><host ip='192.168.9.41'><hostname>x</hostname><hostname>y</hostname></host></dns>
<ip address='192.168.9.1' netmask='255.255.255.0'><dhcp>
<range start='192.168.9.2' end='192.168.9.9'/><host mac='52:54:00:00:00:01' name='a' ip='192.168.9.20'/><host name='b' ip='192.168.9.30'/>
</dhcp></ip>
<ip family='ipv6' address='fd00::1' prefix='64'><dhcp><host id='0:1' name='a' ip='fd00::20'/></dhcp></ip>
<ip address='192.168.8.1' netmask='255.255.255.0'/><portgroup name='a'/><portgroup name='b' default='yes'/></network>`

// change is an update with libvirt's "wherever it fits".
func change(command, section uint32, xml string) server.NetworkUpdate {
	return server.NetworkUpdate{Command: command, Section: section, ParentIndex: -1, XML: xml}
}

func at(u server.NetworkUpdate, parent int32) server.NetworkUpdate {
	u.ParentIndex = parent
	return u
}

type updateCase struct {
	update server.NetworkUpdate
	want   string // in the document afterwards, or in the error
	code   virterr.Code
}

func TestUpdatesOfDHCPChangeTheDocument(t *testing.T) {
	t.Parallel()
	const host, dhcp = sectionDHCPHost, sectionDHCPRange
	runUpdates(t, map[string]updateCase{
		"a host behind the others":       {change(updateAddLast, host, `<host mac='52:54:00:00:00:02' ip='192.168.9.21'/>`), "ip='192.168.9.30'/>\n      <host mac='52:54:00:00:00:02' ip='192.168.9.21'/>", 0},
		"a host before the others":       {at(change(updateAddFirst, host, `<host mac='52:54:00:00:00:02' ip='192.168.9.21'/>`), 0), "ip='192.168.9.21'/>\n      <host mac='52:54:00:00:00:01'", 0},
		"a host in place, by MAC":        {change(updateModify, host, `<host mac='52:54:0:0:0:1' ip='192.168.9.22'/>`), "<host mac='52:54:0:0:0:1' ip='192.168.9.22'/>\n      <host name='b'", 0},
		"a host in place, by name":       {change(updateModify, host, `<host name='b' ip='192.168.9.31'/>`), "ip='192.168.9.20'/>\n      <host name='b' ip='192.168.9.31'/>", 0},
		"a host of IPv6, by its address": {change(updateAddLast, host, `<host id='0:2' ip='fd00::21'/>`), "ip='fd00::20'/>\n      <host id='0:2' ip='fd00::21'/>", 0},
		"a host of IPv6, in place":       {change(updateModify, host, `<host id='00:01' ip='fd00::22'/>`), "<dhcp>\n      <host id='00:01' ip='fd00::22'/>\n    </dhcp>", 0},
		"a host where none was served":   {at(change(updateAddLast, host, `<host name='c' ip='192.168.8.2'/>`), 2), "<dhcp>\n      <host name='c' ip='192.168.8.2'/>\n    </dhcp>\n  </ip>\n  <portgroup", 0},
		"a range more":                   {change(updateAddLast, dhcp, `<range start='192.168.9.50' end='192.168.9.59'/>`), "<range start='192.168.9.50' end='192.168.9.59'/>", 0},
		"a range before the others":      {change(updateAddFirst, dhcp, `<range start='192.168.9.50' end='192.168.9.59'/>`), "<range start='192.168.9.50' end='192.168.9.59'/>\n      <range", 0},
		"a range of IPv6":                {change(updateAddLast, dhcp, `<range start='fd00::50' end='fd00::59'/>`), "<range start='fd00::50' end='fd00::59'/>\n      <host id", 0},
		"a MAC twice":                    {change(updateAddLast, host, `<host mac='52:54:00:00:00:01' ip='192.168.9.23'/>`), `there is an existing dhcp host entry in network 'n' that matches "<host mac='52:54:00:00:00:01' name='unknown' ip='192.168.9.23'/>"`, virterr.OperationInvalid},
		"an address twice":               {change(updateAddLast, host, `<host name='c' ip='192.168.9.20'/>`), "there is an existing dhcp host entry", virterr.OperationInvalid},
		"a longer identifier":            {change(updateAddLast, host, `<host id='1' name='c' ip='fd00::99'/>`), "<host id='1' name='c' ip='fd00::99'/>", 0},
		"the same identifier":            {change(updateAddLast, host, `<host id='00:1' ip='fd00::99'/>`), "there is an existing dhcp host entry", virterr.OperationInvalid},
		"a host to change is missing":    {change(updateModify, host, `<host mac='52:54:00:00:00:09' ip='192.168.9.99'/>`), `couldn't locate an existing dhcp host entry with "mac='52:54:00:00:00:09'" "name='unknown'" "ip='192.168.9.99'" in network 'n'`, virterr.OperationInvalid},
		"a host to delete is missing":    {change(updateDelete, host, `<host mac='52:54:00:00:00:09'/>`), "couldn't locate a matching dhcp host entry in network 'n'", virterr.OperationInvalid},
		"a host to delete is another":    {change(updateDelete, host, `<host mac='52:54:00:00:00:01' name='z'/>`), "couldn't locate a matching dhcp host entry in network 'n'", virterr.OperationInvalid},
		"nothing to delete":              {change(updateDelete, host, `<host/>`), "couldn't locate a matching dhcp host entry in network 'n'", virterr.OperationInvalid},
		"an address outside":             {change(updateAddLast, host, `<host mac='52:54:00:00:00:02' ip='10.0.0.1'/>`), "10.0.0.1", virterr.XMLError},
		"an IPv6 address outside":        {change(updateAddLast, host, `<host id='0:9' ip='fd01::9'/>`), "fd01::9 is outside fd00::/64", virterr.XMLError},
		"a range twice":                  {change(updateAddLast, dhcp, `<range start='192.168.9.2' end='192.168.9.9'/>`), `there is an existing dhcp range entry in network 'n' that matches "<range start='192.168.9.2' end='192.168.9.9'/>"`, virterr.OperationInvalid},
		"a range to delete is missing":   {change(updateDelete, dhcp, `<range start='192.168.9.2' end='192.168.9.8'/>`), "couldn't locate a matching dhcp range entry in network 'n'", virterr.OperationInvalid},
		"a range modified":               {change(updateModify, dhcp, `<range start='192.168.9.2' end='192.168.9.9'/>`), "dhcp ranges cannot be modified", virterr.OperationInvalid},
		"no such ip":                     {at(change(updateAddLast, host, `<host/>`), 3), "couldn't update dhcp host entry - no <ip> element found at index 3 in network 'n'", virterr.OperationInvalid},
		"another element":                {change(updateAddLast, host, `<range/>`), "root element is <range>, want <host>", virterr.XMLDetail},
	})
}

func TestUpdatesOfDNSChangeTheDocument(t *testing.T) {
	t.Parallel()
	const host, txt, srv = sectionDNSHost, sectionDNSTXT, sectionDNSSRV
	runUpdates(t, map[string]updateCase{
		"a host more":                  {change(updateAddLast, host, `<host ip='192.168.9.42'><hostname>y</hostname></host>`), "<host ip='192.168.9.42'>\n      <hostname>y</hostname>\n    </host>\n  </dns>", 0},
		"a host before the others":     {change(updateAddFirst, host, `<host ip='fd00::42'><hostname>x</hostname></host>`), "<host ip='fd00::42'>\n      <hostname>x</hostname>\n    </host>\n    <host ip='192.168.9.40'>", 0},
		"a host less, by name":         {change(updateDelete, host, `<host><hostname>y</hostname></host>`), "<hostname>x</hostname>\n    </host>\n  </dns>", 0},
		"a host less, by address":      {change(updateDelete, host, `<host ip='192.168.9.40'/>`), "port='1'/>\n    <host ip='192.168.9.41'>", 0},
		"an address twice":             {change(updateAddLast, host, `<host ip='192.168.9.40'><hostname>z</hostname></host>`), "there is already at least one DNS HOST record with a matching field in network n", virterr.OperationInvalid},
		"a host that is not there":     {change(updateDelete, host, `<host ip='192.168.9.49'/>`), "couldn't locate a matching DNS HOST record in network n", virterr.OperationInvalid},
		"a name of two hosts":          {change(updateDelete, host, `<host><hostname>x</hostname></host>`), "multiple matching DNS HOST records were found in network n", virterr.OperationInvalid},
		"a host modified":              {change(updateModify, host, `<host ip='192.168.9.40'/>`), "DNS HOST records cannot be modified, only added or deleted", virterr.OperationInvalid},
		"a host of nothing":            {change(updateDelete, host, `<host/>`), "Missing ip and hostname in network 'n' DNS HOST record", virterr.XMLDetail},
		"a host without a name":        {change(updateAddLast, host, `<host ip='192.168.9.49'/>`), "192.168.9.49 has no hostname", virterr.XMLError},
		"a text more":                  {change(updateAddLast, txt, `<txt name='u' value='w'/>`), "<txt name='t' value='v'/>\n    <txt name='u' value='w'/>", 0},
		"a text less":                  {change(updateDelete, txt, `<txt name='t'/>`), "<dns>\n    <srv", 0},
		"a text twice":                 {change(updateAddLast, txt, `<txt name='t' value='w'/>`), "there is already a DNS TXT record with name 't' in network n", virterr.OperationInvalid},
		"a text that is not there":     {change(updateDelete, txt, `<txt name='u'/>`), "couldn't locate a matching DNS TXT record in network n", virterr.OperationInvalid},
		"a text modified":              {change(updateModify, txt, `<txt name='t' value='w'/>`), "DNS TXT records cannot be modified", virterr.OperationInvalid},
		"a text of nothing":            {change(updateDelete, txt, `<txt/>`), "missing required name attribute in DNS TXT record of network n", virterr.XMLDetail},
		"a service more":               {change(updateAddFirst, srv, `<srv service='b' protocol='tcp'/>`), "<srv service='b' protocol='tcp'/>\n    <srv service='a' protocol='tcp'", 0},
		"a service less":               {change(updateDelete, srv, `<srv service='a' protocol='udp'/>`), "protocol='tcp' target='h' port='1'/>\n    <host", 0},
		"a service twice":              {change(updateAddLast, srv, `<srv service='a' protocol='tcp' target='h'/>`), "there is already at least one DNS SRV record matching all specified fields in network n", virterr.OperationInvalid},
		"a service that is not there":  {change(updateDelete, srv, `<srv service='b'/>`), "couldn't locate a matching DNS SRV record in network n", virterr.OperationInvalid},
		"a service of two":             {change(updateDelete, srv, `<srv service='a'/>`), "multiple DNS SRV records matching all specified fields were found in network n", virterr.OperationInvalid},
		"a service modified":           {change(updateModify, srv, `<srv service='a'/>`), "DNS SRV records cannot be modified", virterr.OperationInvalid},
		"a service without a protocol": {change(updateAddLast, srv, `<srv service='c'/>`), "invalid dns/srv/@protocol: it is missing", virterr.XMLError},
	})
}

func TestWhatCannotBeUpdatedSaysSo(t *testing.T) {
	t.Parallel()
	runUpdates(t, map[string]updateCase{
		"a bridge":        {change(updateModify, 1, `<bridge/>`), "can't update 'bridge' section of network 'n'", virterr.NoSupport},
		"a domain":        {change(updateModify, 2, `<domain/>`), "can't update 'domain' section of network 'n'", virterr.NoSupport},
		"an ip":           {change(updateModify, 3, `<ip/>`), "can't update 'ip' section of network 'n'", virterr.NoSupport},
		"forward":         {change(updateModify, 6, `<forward/>`), "can't update 'forward' section of network 'n'", virterr.NoSupport},
		"an interface":    {change(updateAddLast, 7, `<interface/>`), "network 'n' has no <forward>, and so no links of the host", virterr.OperationInvalid},
		"no section":      {change(updateAddLast, 0, `<x/>`), "can't update unrecognized section of network", virterr.NoSupport},
		"unknown section": {change(updateAddLast, 99, `<x/>`), "can't update unrecognized section of network", virterr.NoSupport},
		"no command":      {change(0, 4, `<host/>`), "unrecognized network update command '0'", virterr.NoSupport},
		"unknown command": {change(5, 4, `<host/>`), "unrecognized network update command '5'", virterr.NoSupport},
	})
}

func runUpdates(t *testing.T, cases map[string]updateCase) {
	t.Helper()
	for name, c := range cases {
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

func TestWhatIsDeletedIsGoneFromTheDocumentAndTheDHCPWithItsLast(t *testing.T) {
	t.Parallel()
	doc, err := spec.ParseNetwork([]byte(updateNetworkXML))
	if err != nil {
		t.Fatal(err)
	}
	for _, u := range []server.NetworkUpdate{
		change(updateDelete, sectionDHCPHost, `<host mac='52:54:00:00:00:01'/>`),
		change(updateDelete, sectionDHCPHost, `<host id='0:01'/>`),
		change(updateDelete, sectionDHCPHost, `<host name='b' ip='192.168.9.30'/>`),
		change(updateDelete, sectionDHCPRange, `<range start='192.168.9.2' end='192.168.9.9'/>`),
	} {
		if err := new(Engine).updateDocument(doc, u); err != nil {
			t.Fatalf("%s: %v", u.XML, err)
		}
	}
	if got := string(doc.Format()); strings.Contains(got, "<host mac") || strings.Contains(got, "dhcp") {
		t.Errorf("still there: %s", got)
	}
	doc.IPs = nil
	if err := new(Engine).updateDocument(doc, change(updateAddLast, sectionDHCPHost, `<host name='a' ip='10.0.0.9'/>`)); virterr.CodeOf(err) != virterr.OperationInvalid {
		t.Errorf("a host without any <ip>: %v", err)
	}
	doc.DNS = nil
	if err := new(Engine).updateDocument(doc, change(updateAddLast, sectionDNSTXT, `<txt name='a' value='b'/>`)); err != nil || len(doc.DNS.TXT) != 1 {
		t.Errorf("a record without any <dns>: %v", err)
	}
}
