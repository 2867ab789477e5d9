package rxfilter_test

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	"taproom/internal/qemu/rxfilter"
)

// said is what QEMU 7.2 and 10.0 answer, but for what a case changes.
const said = `{"unicast-overflow": false, "name": "net0", "main-mac": "52:54:00:AA:00:01", "unicast-table": ["52:54:00:aa:00:09", "52:54:00:aa:00:02"],
 "multicast-table": ["33:33:ff:aa:00:01", "01:00:5e:00:00:01", "33:33:00:00:00:01", "01:00:5e:00:00:01"], "multicast": "normal", "promiscuous": false,
 "unicast": "normal", "vlan": "all", "vlan-table": [], "broadcast-allowed": true, "multicast-overflow": false}`

func TestWhatAGuestWantsOfANICIsReadAsItIsMeant(t *testing.T) {
	t.Parallel()
	all := rxfilter.Filter{
		MAC: "52:54:00:aa:00:01", Unicast: []string{"52:54:00:aa:00:02", "52:54:00:aa:00:09"}, Multicast: []string{"01:00:5e:00:00:01", "33:33:00:00:00:01", "33:33:ff:aa:00:01"},
	}
	with := func(change func(*rxfilter.Filter)) rxfilter.Filter {
		f := all
		change(&f)
		return f
	}
	for _, c := range []struct {
		what, from, to string
		want           rxfilter.Filter
	}{
		{"nothing is changed", "", "", all},
		{"every frame", `"promiscuous": false`, `"promiscuous": true`, with(func(f *rxfilter.Filter) { f.Promiscuous = true })},
		{"every machine's", `"unicast": "normal"`, `"unicast": "all"`, with(func(f *rxfilter.Filter) { f.Promiscuous = true })},
		{"more machines than QEMU keeps", `"unicast-overflow": false`, `"unicast-overflow": true`, with(func(f *rxfilter.Filter) { f.Promiscuous = true })},
		{"no other machine", `"unicast": "normal"`, `"unicast": "none"`, with(func(f *rxfilter.Filter) { f.Unicast = nil })},
		{"every group", `"multicast": "normal"`, `"multicast": "all"`, with(func(f *rxfilter.Filter) { f.AllMulticast = true })},
		{"more groups than QEMU keeps", `"multicast-overflow": false`, `"multicast-overflow": true`, with(func(f *rxfilter.Filter) { f.AllMulticast = true })},
		{"no group", `"multicast": "normal"`, `"multicast": "none"`, with(func(f *rxfilter.Filter) { f.Multicast = nil })},
		{"the address of a group", `52:54:00:AA:00:01`, `53:54:00:AA:00:01`, with(func(f *rxfilter.Filter) { f.MAC = "" })},
		{"nobody's address", `52:54:00:AA:00:01`, `00:00:00:00:00:00`, with(func(f *rxfilter.Filter) { f.MAC = "" })},
		{"an address of another length", `52:54:00:AA:00:01`, `52:54:00:aa:00:01:02:03`, with(func(f *rxfilter.Filter) { f.MAC = "" })},
		{"a machine among groups", `33:33:ff:aa:00:01`, `52:54:00:bb:00:01`, with(func(f *rxfilter.Filter) { f.Multicast = f.Multicast[:2] })},
		{"no address", `52:54:00:aa:00:09`, `; reboot`, with(func(f *rxfilter.Filter) { f.Unicast = f.Unicast[:1] })},
	} {
		reply := strings.Replace(said, c.from, c.to, 1)
		if c.from != "" && reply == said {
			t.Fatalf("%s: the case changes nothing", c.what)
		}
		f, err := rxfilter.Parse([]byte("["+strings.Replace(said, "net0", "net1", 1)+","+reply+"]"), "net0")
		if err != nil || !reflect.DeepEqual(f, c.want) {
			t.Errorf("%s: %+v, %v; want %+v", c.what, f, err, c.want)
		}
		if !f.Equal(c.want) || c.from != "" && f.Equal(all) {
			t.Errorf("%s: Equal does not tell", c.what)
		}
	}
}

func TestAnAnswerThatMakesNoSenseIsNoFilter(t *testing.T) {
	t.Parallel()
	var many []string
	for i := range rxfilter.Most {
		many = append(many, fmt.Sprintf(`"52:54:00:aa:01:%02x"`, i))
	}
	for what, reply := range map[string]string{
		"another NIC": "[" + strings.Replace(said, "net0", "net1", 1) + "]", "none": "[]", "no list": said, "no JSON": "[{",
		"more addresses than QEMU keeps": "[" + strings.Replace(said, `"unicast-table": [`, `"unicast-table": [`+strings.Join(many, ",")+",", 1) + "]",
	} {
		f, err := rxfilter.Parse([]byte(reply), "net0")
		if err == nil || !f.Equal(rxfilter.Filter{}) {
			t.Errorf("%s: %+v, %v", what, f, err)
		}
		if absent := what == "another NIC" || what == "none"; errors.Is(err, rxfilter.ErrNoNIC) != absent {
			t.Errorf("%s: %v", what, err)
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add([]byte("[" + said + "]"))
	f.Add([]byte(`[{"name":"net0","main-mac":"x","multicast-table":["01:00:5e:00:00:01"]}]`))
	f.Fuzz(func(t *testing.T, reply []byte) {
		got, err := rxfilter.Parse(reply, "net0")
		if err != nil {
			return
		}
		if len(got.Unicast)+len(got.Multicast) > rxfilter.Most {
			t.Fatalf("%d addresses", len(got.Unicast)+len(got.Multicast))
		}
		for _, list := range [][]string{got.Unicast, got.Multicast} {
			if !slices.IsSorted(list) {
				t.Fatalf("%v is not sorted", list)
			}
			for _, mac := range list {
				if len(mac) != len("00:00:00:00:00:00") || strings.ToLower(mac) != mac {
					t.Fatalf("%q is no address", mac)
				}
			}
		}
	})
}
