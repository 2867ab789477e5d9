package engine

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"taproom/internal/api/remote"
	"taproom/internal/api/server"
	"taproom/internal/qemu/qmp"
	"taproom/internal/spec"
)

// The data is what QEMU 7.2 and 10.0 send.
func TestWhatQEMUTellsReachesClientsInLibvirtsTerms(t *testing.T) {
	t.Parallel()
	ref := server.Domain{Name: "d", UUID: spec.UUID{1}, ID: 3}
	clock := func(k *spec.Clock) *spec.Domain { return &spec.Domain{Clock: k} }
	local := remote.GraphicsAddress{Node: "127.0.0.1", Service: "5900"}
	for _, c := range []struct {
		name, data string
		doc        *spec.Domain
		want       []server.Event
	}{
		{"RTC_CHANGE", `{"offset": 78, "qom-path": "/machine/unattached/device[8]"}`, clock(&spec.Clock{Offset: "utc"}), []server.Event{server.DomainRTCChange{Domain: ref, Offset: 78}}},
		{"RTC_CHANGE", `{"offset": -5}`, clock(&spec.Clock{Offset: "variable", Adjustment: "3600"}), []server.Event{server.DomainRTCChange{Domain: ref, Offset: 3595}}},
		{"RTC_CHANGE", `{"offset": "late"}`, clock(nil), nil},
		{"MEMORY_FAILURE", `{"recipient": "guest", "action": "inject", "flags": {"action-required": true, "recursive": true}}`, clock(nil), []server.Event{server.DomainMemoryFailure{Domain: ref, Recipient: 1, Action: 1, Flags: 3}}},
		{"MEMORY_DEVICE_SIZE_CHANGE", `{"id": "virtiomem0", "size": 1073741824, "qom-path": "/machine/unattached/device[2]"}`, clock(nil), []server.Event{server.DomainMemoryDeviceSize{Domain: ref, Alias: "virtiomem0", SizeKiB: 1 << 20}}},
		{"MEMORY_FAILURE", `{"recipient": "nobody", "action": "inject"}`, clock(nil), nil},
		{
			"VNC_CONNECTED", `{"server": {"auth": "vnc", "family": "ipv4", "service": "5900", "host": "127.0.0.1", "websocket": false}, "client": {"family": "ipv6", "service": "58425", "host": "::1", "websocket": false}}`, clock(nil),
			[]server.Event{server.DomainGraphics{Domain: ref, Phase: 0, Local: local, Remote: remote.GraphicsAddress{Family: 1, Node: "::1", Service: "58425"}, AuthScheme: "vnc"}},
		},
		{
			"SPICE_INITIALIZED", `{"server": {"auth": "spice", "port": "5900", "family": "ipv4", "host": "127.0.0.1"}, "client": {"port": 49004, "family": "unix", "channel-type": 3, "connection-id": 1804289383, "host": "", "channel-id": 0, "tls": true}}`, clock(nil),
			[]server.Event{server.DomainGraphics{Domain: ref, Phase: 1, Local: local, Remote: remote.GraphicsAddress{Family: 2, Service: "49004"}, AuthScheme: "spice"}},
		},
		{
			"VNC_DISCONNECTED", `{"server": {"auth": "none", "family": "ipv4", "service": "5900", "host": "127.0.0.1"}, "client": {"family": "ipv4", "service": "1", "host": "127.0.0.1", "x509_dname": "CN=joe", "sasl_username": "joe"}}`, clock(nil),
			[]server.Event{server.DomainGraphics{
				Domain: ref, Phase: 2, Local: local, Remote: remote.GraphicsAddress{Node: "127.0.0.1", Service: "1"}, AuthScheme: "none",
				Identities: []remote.GraphicsIdentity{{Type: "x509dname", Name: "CN=joe"}, {Type: "saslUsername", Name: "joe"}},
			}},
		},
	} {
		e := &Engine{hub: newHub()}
		var told []server.Event
		defer e.Subscribe(func(ev server.Event) { told = append(told, ev) })()
		d := newDomain(ref.UUID, ref.Name, nil)
		d.update(func(v *view) { v.ref = ref })
		run := &running{}
		run.has.Store(&hardware{doc: c.doc})
		run.adjusted.Store(new(int64)) // somebody is about to write the clock down
		guestEvents[c.name](e, t.Context(), d, run, qmp.Event{Name: c.name, Data: []byte(c.data)})
		if diff := cmp.Diff(c.want, told); diff != "" {
			t.Errorf("%s %s (-want +got):\n%s", c.name, c.data, diff)
		}
	}
}
