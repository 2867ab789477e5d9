package server

import (
	"encoding/binary"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"taproom/internal/api/remote"
	"taproom/internal/spec"
)

// words are the bytes of a message: numbers of 32 and 64 bits, texts with their length, and what is put together already.
func words(t *testing.T, parts ...any) []byte {
	t.Helper()
	var b []byte
	for _, p := range parts {
		switch p := p.(type) {
		case int:
			b = binary.BigEndian.AppendUint32(b, uint32(p))
		case uint64:
			b = binary.BigEndian.AppendUint64(b, p)
		case string:
			b = binary.BigEndian.AppendUint32(b, uint32(len(p)))
			b = append(b, p...)
			b = append(b, make([]byte, (4-len(p)%4)%4)...)
		case []byte:
			b = append(b, p...)
		default:
			t.Fatalf("%T in a message", p)
		}
	}
	return b
}

func TestEveryKindOfEventHasItsLayoutAndItsProcedures(t *testing.T) {
	t.Parallel()
	d := Domain{Name: "d", UUID: spec.UUID{1}, ID: 4}
	uuid := spec.UUID{1}
	dom := words(t, "d", uuid[:], 4)
	net := words(t, "n", make([]byte, 16))
	tunable := []Param{remote.Uint64Param("a", 5), remote.StringParam("b", "c")}
	params := words(t, 2, "a", remote.ParamUint64, uint64(5), "b", remote.ParamString, "c")
	const absent, present = 0, 1
	type layout struct {
		name   string // of the procedure, with callback numbers
		fields []byte // behind the callback's number
	}
	seen := map[int32]bool{}
	for _, c := range []struct {
		event Event
		want  []layout
	}{
		{DomainLifecycle{d, 2, 1}, []layout{{"LIFECYCLE", words(t, dom, 2, 1)}}},
		{DomainReboot{d}, []layout{{"REBOOT", dom}}},
		{DomainRTCChange{d, -3600}, []layout{{"RTC_CHANGE", words(t, dom, -1, -3600)}}},
		{DomainWatchdog{d, 3}, []layout{{"WATCHDOG", words(t, dom, 3)}}},
		{DomainIOError{d, "/p", "vda", 1, "enospc"}, []layout{
			{"IO_ERROR", words(t, dom, "/p", "vda", 1)}, {"IO_ERROR_REASON", words(t, dom, "/p", "vda", 1, "enospc")},
		}},
		{
			DomainGraphics{d, 1, remote.GraphicsAddress{Family: 0, Node: "l", Service: "5900"}, remote.GraphicsAddress{Family: 1, Node: "r", Service: "2"}, "vnc", []remote.GraphicsIdentity{{Type: "t", Name: "n"}}},
			[]layout{{"GRAPHICS", words(t, dom, 1, 0, "l", "5900", 1, "r", "2", "vnc", 1, "t", "n")}},
		},
		{DomainControlError{d}, []layout{{"CONTROL_ERROR", dom}}},
		{DomainBlockJob{d, "/p", "vda", 2, 3}, []layout{
			{"BLOCK_JOB", words(t, dom, "/p", 2, 3)}, {"DOMAIN_EVENT_BLOCK_JOB_2", words(t, dom, "vda", 2, 3)},
		}},
		{DomainDiskChange{d, "/o", "", "ide0", 1}, []layout{{"DISK_CHANGE", words(t, dom, present, "/o", absent, "ide0", 1)}}},
		{DomainTrayChange{d, "ide0", 1}, []layout{{"TRAY_CHANGE", words(t, dom, "ide0", 1)}}},
		{DomainPM{d, PMWakeup}, []layout{{"PMWAKEUP", words(t, 0, dom)}}},
		{DomainPM{d, PMSuspend}, []layout{{"PMSUSPEND", words(t, 0, dom)}}},
		{DomainPM{d, PMSuspendDisk}, []layout{{"PMSUSPEND_DISK", words(t, 0, dom)}}},
		{DomainBalloonChange{d, 1 << 40}, []layout{{"BALLOON_CHANGE", words(t, dom, uint64(1<<40))}}},
		{DomainDeviceRemoved{d, "net1"}, []layout{{"DEVICE_REMOVED", words(t, dom, "net1")}}},
		{DomainTunable{d, tunable}, []layout{{"TUNABLE", words(t, dom, params)}}},
		{DomainAgentLifecycle{d, 1, 2}, []layout{{"AGENT_LIFECYCLE", words(t, dom, 1, 2)}}},
		{DomainDeviceAdded{d, "net1"}, []layout{{"DEVICE_ADDED", words(t, dom, "net1")}}},
		{DomainJobCompleted{d, tunable}, []layout{{"JOB_COMPLETED", words(t, dom, params)}}},
		{DomainDeviceRemovalFailed{d, "net1"}, []layout{{"DEVICE_REMOVAL_FAILED", words(t, dom, "net1")}}},
		{DomainMetadataChange{d, 2, "http://x"}, []layout{{"METADATA_CHANGE", words(t, dom, 2, present, "http://x")}}},
		{DomainMetadataChange{d, 0, ""}, []layout{{"METADATA_CHANGE", words(t, dom, 0, absent)}}},
		{DomainBlockThreshold{d, "vda", "/p", 5, 6}, []layout{{"DOMAIN_EVENT_BLOCK_THRESHOLD", words(t, dom, "vda", present, "/p", uint64(5), uint64(6))}}},
		{DomainMemoryFailure{d, 1, 2, 3}, []layout{{"DOMAIN_EVENT_MEMORY_FAILURE", words(t, dom, 1, 2, 3)}}},
		{DomainMemoryDeviceSize{d, "mem0", 7}, []layout{{"DOMAIN_EVENT_MEMORY_DEVICE_SIZE_CHANGE", words(t, dom, "mem0", uint64(7))}}},
		{DomainNICMAC{d, "net0", "a", "b"}, []layout{{"DOMAIN_EVENT_NIC_MAC_CHANGE", words(t, dom, "net0", "a", "b")}}},
		{NetworkLifecycle{Network{Name: "n"}, 2}, []layout{{"NETWORK_EVENT_LIFECYCLE", words(t, net, 2, 0)}}},
		{NetworkMetadataChange{Network{Name: "n"}, 1, ""}, []layout{{"NETWORK_EVENT_CALLBACK_METADATA_CHANGE", words(t, net, 1, absent)}}},
	} {
		forms := c.event.forms()
		if len(forms) != len(c.want) {
			t.Fatalf("%T has %d forms, want %d", c.event, len(forms), len(c.want))
		}
		for i, f := range forms {
			checkForm(t, f, c.want[i].name, c.want[i].fields, dom)
			if f.source == fromDomains {
				seen[f.kind] = true
			}
		}
	}
	for kind := range int32(remote.EventLast + 1) {
		if !seen[kind] && kind != remote.EventMigrationIteration { // nothing migrates here
			t.Errorf("events of kind %d have no layout", kind)
		}
	}
}

// checkForm compares what is sent with and without callback numbers.
func checkForm(t *testing.T, f form, name string, fields, dom []byte) {
	t.Helper()
	full := name
	if !strings.Contains(name, "_EVENT_") {
		full = "DOMAIN_EVENT_CALLBACK_" + name
	}
	if got := remote.ProcedureName(f.procedure); got != full {
		t.Errorf("%s is sent as procedure %d, %s", full, f.procedure, got)
	}
	encode := func(legacy bool) []byte {
		b, err := remote.Append(nil, remote.Header{}, f.payload(9, legacy))
		if err != nil {
			t.Errorf("%s: %v", full, err)
			return nil
		}
		return b[remote.HeaderSize:]
	}
	if diff := cmp.Diff(words(t, 9, fields), encode(false)); diff != "" {
		t.Errorf("%s (-want +got):\n%s", full, diff)
	}
	if f.legacy == 0 {
		if f.source == fromDomains && f.kind <= remote.EventLastLegacy {
			t.Errorf("%s has no form for clients that register without callback numbers", full)
		}
		return
	}
	if got := remote.ProcedureName(f.legacy); got != "DOMAIN_EVENT_"+name {
		t.Errorf("%s is sent as procedure %d, %s, without callback numbers", full, f.legacy, got)
	}
	if strings.HasPrefix(name, "PM") {
		fields = dom // the reason came later than the event
	}
	if diff := cmp.Diff(fields, encode(true)); diff != "" {
		t.Errorf("%s without callback numbers (-want +got):\n%s", full, diff)
	}
}
