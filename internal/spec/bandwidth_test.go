package spec

import (
	"strings"
	"testing"
)

func TestBoundsThatCannotBeAreRefusedByName(t *testing.T) {
	t.Parallel()
	const missing, small = "/inbound/@average: it is missing", "is not supported"
	for bounds, want := range map[string]string{
		"<inbound average='1000' peak='5000' burst='1024'/><outbound average='128' peak='256' burst='256'/>": "",
		"<inbound average='4294967295'/>":                  "",
		"<outbound average='0'/>":                          "",
		"<inbound average='4294967296'/>":                  "/inbound/@average: 4294967296",
		"<inbound average='-1'/>":                          "/inbound/@average: ",
		"<outbound average='1' peak='4294967296'/>":        "/outbound/@peak: 4294967296",
		"<outbound average='1' burst='-3'/>":               "/outbound/@burst: ",
		"<inbound/>":                                       missing,
		"<inbound burst='7'/>":                             missing + ", and peak and burst need it",
		"<inbound peak='7'/>":                              missing + ", and peak and burst need it",
		"<inbound average='7' peak='6'/>":                  "",
		"<inbound average='1000' burst='274000'/>":         "",
		"<inbound average='1000' peak='10' burst='2741'/>": "/inbound/@burst: at 10 KiB/s it lasts longer than 274 s; 2740 KiB is the most",
		"<inbound average='1000' burst='274001'/>":         "/inbound/@burst: at 1000 KiB/s it lasts longer than 274 s; 274000 KiB is the most",
		"<outbound average='1' floor='1'/>":                "/outbound/@floor " + small,
		"<inbound average='1' floor='4294967296'/>":        "/inbound/@floor",
	} {
		for at, doc := range map[string]string{
			"bandwidth":                   "<network><name>n</name><ip address='10.0.0.1'/><bandwidth>" + bounds + "</bandwidth></network>",
			"portgroup/bandwidth":         "<network><name>n</name><ip address='10.0.0.1'/><portgroup name='a'><bandwidth>" + bounds + "</bandwidth></portgroup></network>",
			"devices/interface/bandwidth": nicOf("type='network'", "<source network='n'/><bandwidth>"+bounds+"</bandwidth>"),
		} {
			var err error
			if at == "devices/interface/bandwidth" {
				err = validateDomain(doc)
			} else {
				err = validateNetwork(doc)
			}
			got := ""
			if err != nil {
				got = strings.TrimPrefix(err.Error(), "invalid ")
			}
			if wanted := at + want; want == "" && got != "" || want != "" && !strings.HasPrefix(got, wanted) {
				t.Errorf("%s: %q, want %q", doc, got, wanted)
			}
		}
	}
}

func TestAFloorIsANICsOnANetworkAndBoundsNeedALink(t *testing.T) {
	t.Parallel()
	const floor, bound = "<bandwidth><inbound floor='7'/></bandwidth>", "<bandwidth><inbound average='7'/></bandwidth>"
	for doc, want := range map[string]string{
		nicOf("type='network'", "<source network='n'/>"+floor):                   "",
		nicOf("type='bridge'", "<source bridge='b'/>"+bound):                     "",
		nicOf("type='direct'", "<source dev='e'/>"+bound):                        "",
		nicOf("type='ethernet'", bound):                                          "",
		nicOf("type='bridge'", "<source bridge='b'/>"+floor):                     "devices/interface/bandwidth/inbound/@floor is not supported",
		nicOf("type='user'", bound):                                              "devices/interface/bandwidth is not supported: an interface of type='user' has no link",
		nicOf("type='ethernet'", "<target dev='t' managed='no'/>"+bound):         "devices/interface/bandwidth is not supported: the tap is somebody else's",
		"<network><name>n</name><ip address='10.0.0.1'/>" + floor + "</network>": "bandwidth/inbound/@floor is not supported",
		onSwitch(bound): "bandwidth is not supported: the network has no bridge of its own with forward mode='bridge'",
		"<network><name>n</name><portgroup name='a'>" + floor + "</portgroup></network>": "portgroup/bandwidth/inbound/@floor is not supported",
	} {
		err := validateNetwork(doc)
		if strings.HasPrefix(doc, "<domain") {
			err = validateDomain(doc)
		}
		if got := message(err); !strings.HasPrefix(got, want) || want == "" && got != "" {
			t.Errorf("%s: %q, want %q", doc, got, want)
		}
	}
}

func nicOf(attrs, inside string) string {
	return strings.ReplaceAll(guest("", "<interface "+attrs+"><mac address='52:54:00:00:00:01'/>"+inside+"</interface>"), "%os", "")
}

func message(err error) string {
	if err == nil {
		return ""
	}
	return strings.TrimPrefix(err.Error(), "invalid ")
}
