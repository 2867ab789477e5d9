package ebtables

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"taproom/internal/network/nwfilter"
)

func TestAFirstPortIsWrittenWithAllThatLeadsToIt(t *testing.T) {
	t.Parallel()
	r, err := render(compiled(t, "vnet1", params("10.0.0.1", "10.0.0.2"), clean()...))
	if err != nil {
		t.Fatal(err)
	}
	for of, want := range map[tool]string{frames: `
*nat
:tr-out RETURN
:tr-in RETURN
:tr-o-vnet1 RETURN
:tr-i-vnet1 RETURN
-A tr-out -i vnet1 -j tr-o-vnet1
-A tr-in -o vnet1 -j tr-i-vnet1
:tr-o-vnet1 RETURN
:tr-o1-vnet1 RETURN
:tr-i-vnet1 RETURN
:tr-i1-vnet1 RETURN
-A tr-o-vnet1 -s ! 52:54:00:00:00:01 -j DROP
-A tr-o-vnet1 -p 0x0806 -j tr-o1-vnet1
-A tr-o-vnet1 -p 0x0800 --ip-src ! 10.0.0.1 -j DROP
-A tr-o-vnet1 -p 0x0800 --ip-src ! 10.0.0.2 -j DROP
-A tr-o1-vnet1 -p 0x0806 --arp-htype 1 --arp-mac-src 52:54:00:00:00:01 --arp-ip-src 10.0.0.1 -j RETURN
-A tr-o1-vnet1 -p 0x0806 --arp-htype 1 --arp-mac-src 52:54:00:00:00:01 --arp-ip-src 10.0.0.2 -j RETURN
-A tr-o1-vnet1 -p 0x0806 -j DROP
-I PREROUTING 1 -j tr-out
-I POSTROUTING 1 -j tr-in
*filter
:tr-drop RETURN
:tr-link RETURN
-A tr-drop -p 0x0800 -j DROP
-A tr-drop -p 0x0806 -j DROP
-A tr-drop -p 0x86dd -j DROP
-A tr-link -d 01:80:c2:00:00:00/ff:ff:ff:ff:ff:f0 -i vnet1 -j tr-drop
-I INPUT 1 -j tr-link
`, packets4: `
*filter
:tr-out - [0:0]
:tr-in - [0:0]
:tr-ports - [0:0]
:tr-o-vnet1 - [0:0]
:tr-i-vnet1 - [0:0]
-A tr-out -m physdev --physdev-in vnet1 -j tr-o-vnet1
-A tr-in -m physdev --physdev-out vnet1 --physdev-is-bridged -j tr-i-vnet1
-A tr-ports MARK
:tr-o-vnet1 - [0:0]
:tr-i-vnet1 - [0:0]
-A tr-o-vnet1 -p 6 ! -f -m tcp --sport 22 -m conntrack --ctstate ESTABLISHED --ctdir REPLY -j RETURN
-A tr-o-vnet1 -p 6 -j DROP
-A tr-i-vnet1 -p 6 ! -f -m tcp --dport 22 -m conntrack --ctstate NEW,ESTABLISHED --ctdir ORIGINAL -j RETURN
-A tr-i-vnet1 -p 6 -j DROP
-I INPUT 1 -j tr-out
-I FORWARD 1 -j tr-in
-I FORWARD 1 -j tr-out
COMMIT
`} {
		got := write(of, &sight{}, map[string]string{"vnet1": "MARK"}, map[string]rules{"vnet1": r})
		if diff := cmp.Diff(strings.TrimSpace(want), strings.TrimSpace(got)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", of, diff)
		}
	}
}

func TestWhatMasksAreIsWrittenShort(t *testing.T) {
	t.Parallel()
	w, _ := wordOfFrame(nwfilter.IPv4Src, false)
	for want, m := range map[string][]byte{
		"0": {0, 0, 0, 0}, "8": {255, 0, 0, 0}, "20": {255, 255, 240, 0}, "32": {255, 255, 255, 255},
		"255.0.255.0": {255, 0, 255, 0}, "0.0.0.255": {0, 0, 0, 255}, "255.5.0.0": {255, 5, 0, 0},
	} {
		if got := mask(w, m); got != want {
			t.Errorf("%v: %s, want %s", m, got, want)
		}
	}
}

func TestAPortIsKnownByItsChains(t *testing.T) {
	t.Parallel()
	for chain, want := range map[string]string{
		"tr-o-vnet1": "vnet1", "tr-i12-a-b": "a-b", "tr-out": "", "tr-in": "", "tr-link": "", "tr-ports": "", "FORWARD": "", "tr-o-": "", "tr-ox-vnet1": "", "tr--vnet1": "",
	} {
		if got := portOf(chain); got != want {
			t.Errorf("%s is of %q, want %q", chain, got, want)
		}
	}
}
