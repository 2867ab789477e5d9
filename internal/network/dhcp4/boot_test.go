package dhcp4

import (
	"fmt"
	"net/netip"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/insomniacslk/dhcp/dhcpv4"
	"github.com/insomniacslk/dhcp/iana"
)

func arch(a uint16) dhcpv4.Modifier {
	return dhcpv4.WithOption(dhcpv4.OptClientArch(iana.Arch(a)))
}

func TestFirmwareIsToldWhatItsArchitectureLoads(t *testing.T) {
	t.Parallel()
	n := small()
	n.Boot = []Boot{
		{File: "undionly.kpxe"},
		{Arch: []uint16{7, 9}, File: "shimx64.efi", Server: netip.MustParseAddr("10.7.0.5"), ServerName: "files"},
		{Arch: []uint16{16}, File: "http://10.7.0.1/boot.efi"},
	}
	l := newLab(t, n)
	ask := dhcpv4.WithRequestedOptions(dhcpv4.OptionTFTPServerName, dhcpv4.OptionBootfileName)
	got := map[string]string{}
	for name, how := range map[string][]dhcpv4.Modifier{
		"no firmware": nil, "BIOS": {arch(0), ask}, "UEFI": {arch(7), ask}, "UEFI over HTTP": {arch(16), ask}, "ARM": {arch(11)},
	} {
		r := l.send(1, discover, how...).Message
		got[name] = fmt.Sprintf("%s %s %q %q %q", r.ServerIPAddr, r.BootFileName, r.ServerHostName, r.TFTPServerName(), r.ClassIdentifier())
	}
	want := map[string]string{
		"no firmware":    `10.7.0.1 undionly.kpxe "" "" ""`,
		"BIOS":           `10.7.0.1 undionly.kpxe "" "10.7.0.1" ""`,
		"UEFI":           `10.7.0.5 shimx64.efi "files" "files" ""`,
		"UEFI over HTTP": `10.7.0.1 http://10.7.0.1/boot.efi "" "10.7.0.1" "HTTPClient"`,
		"ARM":            `10.7.0.1 undionly.kpxe "" "" ""`,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

func TestOtherOptionsGoToThoseThatAskOrMustHaveThem(t *testing.T) {
	t.Parallel()
	n := small()
	n.Options = []Option{
		{Code: 42, Value: []byte{10, 7, 0, 3}},
		{Code: 252, Value: []byte("http://wpad"), Force: true},
		{Code: 209, Value: []byte("pxe.cfg"), Arch: []uint16{0}, Force: true},
		{Code: 15, Value: []byte("instead.test")},
	}
	l := newLab(t, n)
	got := map[string][4]string{}
	for name, how := range map[string][]dhcpv4.Modifier{
		"asks for nothing": nil,
		"asks for routers": {dhcpv4.WithRequestedOptions(dhcpv4.OptionRouter)},
		"asks for clocks":  {dhcpv4.WithRequestedOptions(dhcpv4.OptionNTPServers, dhcpv4.OptionDomainName), arch(0)},
	} {
		o := l.send(1, discover, how...).Message.Options
		get := func(code uint8) string { return string(o.Get(dhcpv4.GenericOptionCode(code))) }
		got[name] = [4]string{get(42), get(252), get(209), get(15)}
	}
	want := map[string][4]string{
		"asks for nothing": {"\x0a\x07\x00\x03", "http://wpad", "", "instead.test"},
		"asks for routers": {"", "http://wpad", "", ""},
		"asks for clocks":  {"\x0a\x07\x00\x03", "http://wpad", "pxe.cfg", "instead.test"},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

func TestWhatDoesNotFitIsLeftOutAndTheLeaseIsNot(t *testing.T) {
	t.Parallel()
	n := small()
	n.Options = []Option{{Code: 200, Value: make([]byte, 400)}, {Code: 201, Value: []byte("fits")}}
	r := newLab(t, n).send(1, discover)
	if f := r.Frame(nic(9)); len(f) > 14+576 {
		t.Errorf("a client that takes 576 bytes was sent %d", len(f)-14)
	}
	o := r.Message.Options
	if o.Has(dhcpv4.GenericOptionCode(200)) || !o.Has(dhcpv4.GenericOptionCode(201)) || r.Message.IPAddressLeaseTime(0) == 0 {
		t.Errorf("offered\n%s", r.Message.Summary())
	}
}

func TestSubnetsOfOneLinkAreEachServedFromTheirAddress(t *testing.T) {
	t.Parallel()
	n := small()
	n.Ranges[0].End = n.Ranges[0].Start
	n.Subnets = append(n.Subnets, Subnet{Server: netip.MustParseAddr("10.8.0.1"), Prefix: netip.MustParsePrefix("10.8.0.0/16")})
	n.Ranges = append(n.Ranges, Range{Start: netip.MustParseAddr("10.8.1.0"), End: netip.MustParseAddr("10.8.1.0"), LeaseSeconds: 300})
	l := newLab(t, n)
	seen := map[string]string{}
	for i := range byte(2) {
		r := l.send(i+1, discover)
		m := r.Message
		a := m.YourIPAddr.String()
		seen[a] = fmt.Sprintf("%s %s %s %s %s", m.ServerIdentifier(), r.Server, m.SubnetMask(), m.Router(), m.IPAddressLeaseTime(0))
		l.send(i+1, request, wish(a), server(m.ServerIdentifier().String()))
	}
	want := map[string]string{
		"10.7.0.10": "10.7.0.1 10.7.0.1 ffffff00 [10.7.0.1] 1h0m0s",
		"10.8.1.0":  "10.8.0.1 10.8.0.1 ffff0000 [] 5m0s",
	}
	if diff := cmp.Diff(want, seen); diff != "" || len(l.s.Leases(l.now)) != 2 {
		t.Errorf("%d leases; -want +got:\n%s", len(l.s.Leases(l.now)), diff)
	}
}
