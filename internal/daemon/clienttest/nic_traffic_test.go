package clienttest

import (
	"fmt"
	"strings"
	"testing"
)

// stats are what virsh tells of a NIC: packets and bytes that the guest received, and that it sent.
func (m *machine) stats(device string) (received, receivedBytes, sent, sentBytes uint64) {
	m.t.Helper()
	out := m.do("domifstat", m.name, device)
	for line := range strings.Lines(out) {
		f := strings.Fields(line)
		if len(f) != 3 {
			continue
		}
		for name, to := range map[string]*uint64{"rx_packets": &received, "rx_bytes": &receivedBytes, "tx_packets": &sent, "tx_bytes": &sentBytes} {
			if f[1] == name {
				if _, err := fmt.Sscan(f[2], to); err != nil {
					m.t.Fatalf("%s: %v", line, err)
				}
			}
		}
	}
	return received, receivedBytes, sent, sentBytes
}

// nicIsCounted expects that what taproom says has passed the guest's NIC is what its link counted, in the guest's own words.
func (m *machine) nicIsCounted() {
	m.t.Helper()
	rx, rxBytes, tx, txBytes := m.stats("vnet0")
	all, err := m.client.NetworkTraffic(m.t.Context(), "lab")
	if err != nil {
		m.t.Fatal(err)
	}
	rxAfter, rxBytesAfter, txAfter, txBytesAfter := m.stats("vnet0")
	if len(all.Networks) != 1 || !all.Networks[0].Counted || len(all.Networks[0].NICs) != 1 {
		m.t.Fatalf("traffic of the network of one guest: %+v", all)
	}
	nic := all.Networks[0].NICs[0]
	if nic.Guest != "demo" || nic.MAC != "52:54:00:00:00:01" || nic.Link != "vnet0" {
		m.t.Errorf("whose NIC: %+v", nic)
	}
	for _, c := range []struct {
		what              string
		least, said, most uint64
	}{
		{"packets received", rx, nic.ReceivedPackets, rxAfter},
		{"bytes received", rxBytes, nic.ReceivedBytes, rxBytesAfter},
		{"packets sent", tx, nic.SentPackets, txAfter},
		{"bytes sent", txBytes, nic.SentBytes, txBytesAfter},
	} {
		if c.least == 0 || c.said < c.least || c.said > c.most {
			m.t.Errorf("%s: %d, and virsh says %d before and %d after", c.what, c.said, c.least, c.most)
		}
	}
}

// NICs are shown where no rule counts, too: on a link of the host, and in a network of mode open.
func TestNICsAreCountedWhereNoRuleCounts(t *testing.T) {
	t.Parallel()
	c := serve(t)
	c.lowers("low0")
	for name, forward := range map[string]string{
		"shared": "<forward mode='bridge'><interface dev='low0'/></forward>",
		"apart":  "<forward mode='open'/><bridge name='virbr-apart'/><ip address='192.168.99.1' prefix='24'/>",
	} {
		c.do("net-define", c.write(name+".xml", "<network><name>"+name+"</name>"+forward+"</network>"))
		c.do("net-start", name)
	}
	nic := func(mac, network string) string {
		return "<interface type='network'><mac address='52:54:00:00:00:" + mac + "'/><source network='" + network + "'/><model type='virtio'/></interface>"
	}
	c.direct("one", nic("0a", "shared"), nic("0b", "apart"))
	c.do("start", "one", "--paused")
	out, code := c.run(c.taproom("net", "traffic"))
	if code != 0 {
		t.Fatal(out)
	}
	networks, nics, _ := strings.Cut(out, "\n\n")
	rows := map[string]string{}
	for line := range strings.Lines(networks + "\n" + nics) {
		if f := strings.Fields(line); len(f) > 3 {
			rows[f[0]+" "+f[1]] = strings.Join(f, " ")
		}
	}
	for key, want := range map[string]string{
		"shared -": "shared - - - - -", "apart virbr-apart": "apart virbr-apart - - - -",
		"shared one": "shared one 52:54:00:00:00:0a macvtap0 ", "apart one": "apart one 52:54:00:00:00:0b vnet0 ",
	} {
		if !strings.HasPrefix(rows[key], want) {
			t.Errorf("%q; want %q in\n%s", rows[key], want, out)
		}
	}
	c.do("destroy", "one")
	c.do("net-destroy", "apart")
}
