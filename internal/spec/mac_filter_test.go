package spec

import (
	"fmt"
	"strings"
	"testing"
)

func TestNICsArePinnedToTheirAddressesInTheMetadata(t *testing.T) {
	t.Parallel()
	for inside, want := range map[string]string{
		"": "map[]",
		"<t:macFilter xmlns:t='urn:taproom:domain:1' mac='52:54:00:00:00:0A'/>":                                                                      "map[52:54:00:00:00:0a:true]",
		"<t:macFilter xmlns:t='urn:taproom:domain:1' mac='52:54:00:00:00:0a' pin='no'/>":                                                             "map[52:54:00:00:00:0a:false]",
		"<o:macFilter xmlns:o='urn:other' mac='nobody'/>":                                                                                            "map[]",
		"<t:macFilter xmlns:t='urn:taproom:domain:1' mac='52:54:00:00:00:0b'/>":                                                                      "is no NIC of this guest",
		"<t:macFilter xmlns:t='urn:taproom:domain:1' mac='52:54:00:00:00:0a' pin='perhaps'/>":                                                        "neither yes nor no",
		"<t:macFilter xmlns:t='urn:taproom:domain:1' mac='52:54:00:00:00:0a' on='yes'/>":                                                             "no attribute on",
		"<t:macFilter xmlns:t='urn:taproom:domain:1' mac='52:54:00:00:00:0a'/><t:macFilter xmlns:t='urn:taproom:domain:1' mac='52:54:00:00:00:0A'/>": "twice",
	} {
		d, err := ParseDomain([]byte("<domain type='kvm'><name>a</name><metadata>" + inside + "</metadata><devices><interface type='user'><mac address='52:54:00:00:00:0a'/></interface></devices></domain>"))
		if err != nil {
			t.Fatal(err)
		}
		all, err := d.MACFilters()
		got := fmt.Sprint(all)
		if err != nil {
			got = err.Error()
		}
		if !strings.Contains(got, want) {
			t.Errorf("%s: %s, want %s", inside, got, want)
		}
	}
}
