package server_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"taproom/internal/api/remote"
	"taproom/internal/api/server"
	"taproom/internal/api/server/servertest"
	"taproom/internal/api/virterr"
	"taproom/internal/api/xdr"
)

func TestVirshUnderstandsEveryKindOfEvent(t *testing.T) {
	t.Parallel()
	f := servertest.New()
	srv := servertest.Serve(t, server.Options{Backend: f})
	lines := listen(t, srv.Socket, "event", "--all", "--loop", "--timeout", "60")
	waitFor(t, "a client that listens", func() bool { return srv.Server.Registered(remote.EventMemoryDeviceSizeChange) == 1 })
	d := server.Domain{Name: "guest", ID: 1}
	for _, e := range []server.Event{
		server.DomainRTCChange{Domain: d, Offset: -3600},
		server.DomainWatchdog{Domain: d, Action: 2},
		server.DomainIOError{Domain: d, Path: "/images/a", Alias: "virtio-disk0", Action: 1, Reason: "enospc"},
		server.DomainGraphics{
			Domain: d, Phase: 1, Local: remote.GraphicsAddress{Node: "127.0.0.1", Service: "5900"},
			Remote: remote.GraphicsAddress{Family: 1, Node: "::1", Service: "41234"}, AuthScheme: "vnc",
			Identities: []remote.GraphicsIdentity{{Type: "saslUsername", Name: "joe"}},
		},
		server.DomainControlError{Domain: d},
		server.DomainBlockJob{Domain: d, Path: "/images/a", Target: "vda", Type: 2, Status: 0},
		server.DomainDiskChange{Domain: d, Old: "/images/a.iso", Alias: "ide0-0-0", Reason: 1},
		server.DomainTrayChange{Domain: d, Alias: "ide0-0-0", Reason: 0},
		server.DomainPM{Domain: d, Kind: server.PMSuspend},
		server.DomainPM{Domain: d, Kind: server.PMWakeup},
		server.DomainPM{Domain: d, Kind: server.PMSuspendDisk},
		server.DomainBalloonChange{Domain: d, ActualKiB: 1 << 20},
		server.DomainDeviceRemoved{Domain: d, Alias: "net1"},
		server.DomainTunable{Domain: d, Params: []server.Param{remote.Uint64Param("cputune.cpu_shares", 512)}},
		server.DomainAgentLifecycle{Domain: d, State: 1, Reason: 2},
		server.DomainDeviceAdded{Domain: d, Alias: "net1"},
		server.DomainJobCompleted{Domain: d, Params: []server.Param{remote.IntParam("operation", 5)}},
		server.DomainDeviceRemovalFailed{Domain: d, Alias: "net1"},
		server.DomainMetadataChange{Domain: d, Type: 2, URI: "http://example.org/a"},
		server.DomainBlockThreshold{Domain: d, Device: "vda", Path: "/images/a", Threshold: 10, Excess: 3},
		server.DomainMemoryFailure{Domain: d, Recipient: 1, Action: 1, Flags: 1},
		server.DomainMemoryDeviceSize{Domain: d, Alias: "virtiomem0", SizeKiB: 2048},
	} {
		f.Emit(e)
	}
	want := `event 'rtc-change' for domain 'guest': -3600
event 'watchdog' for domain 'guest': reset
event 'io-error' for domain 'guest': /images/a (virtio-disk0) pause
event 'io-error' for domain 'guest': /images/a (virtio-disk0) pause due to enospc
event 'graphics' for domain 'guest': initialize local[IPv4 127.0.0.1 5900] remote[IPv6 ::1 41234] vnc
	saslUsername=joe
event 'control-error' for domain 'guest'
event 'block-job' for domain 'guest': Block Copy for /images/a completed
event 'block-job-2' for domain 'guest': Block Copy for vda completed
event 'disk-change' for domain 'guest' disk ide0-0-0: /images/a.iso -> <null>: dropped
event 'tray-change' for domain 'guest' disk ide0-0-0: opened
event 'pm-suspend' for domain 'guest'
event 'pm-wakeup' for domain 'guest'
event 'pm-suspend-disk' for domain 'guest'
event 'balloon-change' for domain 'guest': 1048576KiB
event 'device-removed' for domain 'guest': net1
event 'tunable' for domain 'guest':
	cputune.cpu_shares: 512
event 'agent-lifecycle' for domain 'guest': state: 'connected' reason: 'channel event'
event 'device-added' for domain 'guest': net1
event 'job-completed' for domain 'guest':
	operation: 5
event 'device-removal-failed' for domain 'guest': net1
event 'metadata-change' for domain 'guest': type element, uri http://example.org/a
event 'block-threshold' for domain 'guest': dev: vda(/images/a) 10 3
event 'memory-failure' for domain 'guest':
recipient: guest
action: inject
flags:
	action required: 1
	recursive: 0
event 'memory-device-size-change' for domain 'guest':
alias: virtiomem0
size: 2048
`
	got := strings.ReplaceAll(lines(strings.Count(want, "\n")), "'io-error-reason'", "'io-error'") // as virsh 11 calls both
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("virsh event (-want +got):\n%s", diff)
	}
}

func TestKindsOfEventsThatDoNotExistAreRefused(t *testing.T) {
	t.Parallel()
	srv := servertest.Serve(t, server.Options{Backend: servertest.New()})
	w := opened(t, srv.Socket)
	for _, c := range []struct {
		procedure uint32
		args      xdr.Value
	}{
		{remote.ProcConnectDomainEventCallbackRegisterAny, &remote.DomainEventRegister{Event: remote.EventLast + 1}},
		{remote.ProcConnectDomainEventRegisterAny, &remote.Int{N: remote.EventLastLegacy + 1}},
		{remote.ProcConnectDomainEventRegisterAny, &remote.Int{N: -1}},
		{remote.ProcConnectNetworkEventRegisterAny, &remote.NetworkEventRegister{Event: 2}},
		{remote.ProcConnectStoragePoolEventRegisterAny, &remote.NetworkEventRegister{Event: 2}},
		{remote.ProcConnectNodeDeviceEventRegisterAny, &remote.NodeDeviceEventRegister{Event: 2}},
		{remote.ProcConnectSecretEventRegisterAny, &remote.SecretEventRegister{Event: 2}},
	} {
		if code := virterr.CodeOf(w.call(c.procedure, c.args, &remote.Int{})); code != virterr.InternalError {
			t.Errorf("%s answers with error %d", remote.ProcedureName(c.procedure), code)
		}
	}
	for _, c := range []struct {
		procedure uint32
		args      xdr.Value
		want      virterr.Code
	}{
		{remote.ProcConnectNodeDeviceEventRegisterAny, &remote.NodeDeviceEventRegister{Device: &remote.String{S: "pci_none"}}, virterr.NoNodeDevice},
		{remote.ProcConnectSecretEventRegisterAny, &remote.SecretEventRegister{Secret: &remote.Secret{}}, virterr.NoSecret},
	} {
		if code := virterr.CodeOf(w.call(c.procedure, c.args, &remote.Int{})); code != c.want {
			t.Errorf("%s answers with error %d", remote.ProcedureName(c.procedure), code)
		}
	}
	var id remote.Int
	w.must(remote.ProcConnectNodeDeviceEventRegisterAny, &remote.NodeDeviceEventRegister{Event: 1}, &id)
	w.must(remote.ProcConnectNodeDeviceEventDeregisterAny, &id, &xdr.Void{})
	w.must(remote.ProcConnectSecretEventRegisterAny, &remote.SecretEventRegister{}, &id)
	w.must(remote.ProcConnectSecretEventDeregisterAny, &id, &xdr.Void{})
}
